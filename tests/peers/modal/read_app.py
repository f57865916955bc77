# SPDX-License-Identifier: MIT
"""Reads back what a modal_app.py defines, from the real package `modal`: read_app.py FOLDER prints it as JSON.

It looks into objects of the package that are not its public interface: nothing else says what `modal deploy` would send. It
also checks what the app makes of the package's exceptions.
"""
import inspect
import json
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import modal  # noqa: E402
import modal_app  # noqa: E402
from modal._utils.async_utils import synchronizer  # noqa: E402

BUILDER = "2025.06"  # of the images


def commands_of(image):
    """The lines of all layers of an image, the lowest first."""
    load = image._load
    layer = {name: cell.cell_contents for name, cell in zip(load.__code__.co_freevars, load.__closure__)}
    bases = [*(layer.get("base_images") or {}).values(), *(value for value in layer.values() if isinstance(value, type(image)))]
    lower = [line for base in bases for line in commands_of(base)]
    make = layer.get("dockerfile_function")
    return lower + (list(make(BUILDER).commands) if make else [])


def read(function):
    inner = synchronizer._translate_in(function)
    info, spec = inner._function_info, inner._spec
    webhook = inner._webhook_config
    return {
        "raw": inner._raw_f.__name__, "gpus": info.gpus, "timeout": info.timeout, "single_use": info.single_use_containers,
        "cpu": info.cpu, "memory": info.memory_mib,
        "secrets": [str(secret) for secret in spec.secrets],
        "image": commands_of(synchronizer._translate_in(spec.image)), "concurrent": info.concurrency_info and info.concurrency_info.max_inputs,
        "web": None if webhook is None else {"wsgi": webhook.type == modal._utils.function_utils.api_pb2.WEBHOOK_TYPE_WSGI_APP,
                                             "proxy_auth": webhook.requires_proxy_auth}}


def check_calls(calls):
    """What ModalCalls makes of each end that Modal has for a call, with the exceptions of the package."""
    class Call:
        object_id, end = "fc-1", None

        def get(self, timeout):
            assert timeout == 0
            if isinstance(self.end, BaseException):
                raise self.end
            return self.end

        def cancel(self):
            if self.end:
                raise self.end

    errors, modal_call = modal.exception, modal.FunctionCall
    modal.FunctionCall = type("FunctionCall", (), {"from_id": staticmethod(lambda _id: Call())})
    try:
        for end, found in ((TimeoutError(), None), (errors.TimeoutError(), None), (errors.OutputExpiredError(), {}),
                           (errors.NotFoundError(), {}), ({"result": b"x"}, {"result": b"x"}),
                           (errors.FunctionTimeoutError("t"), {"error": "The function exceeded its timeout."}),
                           (errors.InputCancellation("c"), {"error": "The call was cancelled."}),
                           (ValueError("v"), {"error": "The function failed: ValueError: v"})):
            Call.end = end
            assert calls.get("fc-1") == found, (end, calls.get("fc-1"))
        for run, end, status in ((calls.get, errors.ServiceError("s"), 503), (calls.get, errors.ConnectionError("s"), 503),
                                 (calls.cancel, errors.NotFoundError("n"), 404), (calls.cancel, errors.InternalError("i"), 503)):
            Call.end = end
            try:
                run("fc-1")
                raise AssertionError(f"{end!r} was not refused")
            except modal_app.Refused as refused:
                assert refused.status == status, (end, refused.status)
        Call.end = None
        calls.cancel("fc-1")
    finally:
        modal.FunctionCall = modal_call


def main():
    calls = modal_app.ModalCalls(modal_app.functions)
    found = {name: read(function) for name, function in {**modal_app.functions, "web": modal_app.web}.items()}
    # What the three calls need of the package is there.
    for owner, names in ((modal.Function, ("spawn", "get_current_stats")), (modal.FunctionCall, ("from_id", "get", "cancel")),
                         (modal.Dict, ("from_name", "put", "get", "pop")),
                         (modal.exception, ("OutputExpiredError", "NotFoundError", "FunctionTimeoutError", "InputCancellation",
                                            "ServiceError", "ConnectionError", "InternalError", "ResourceExhaustedError",
                                            "AuthError", "TimeoutError", "Error"))):
        missing = [name for name in names if not hasattr(owner, name)]
        assert not missing, f"{owner}: {missing}"
    assert "skip_if_exists" in inspect.signature(modal.Dict.put).parameters
    assert "timeout" in inspect.signature(modal.FunctionCall.get).parameters
    assert set(calls.functions) == set(modal_app.functions)
    check_calls(calls)
    table = modal_app.modal_table()
    print(json.dumps({"app": modal_app.app.name, "version": modal.__version__, "table": type(table).__name__, "functions": found}))


main()
