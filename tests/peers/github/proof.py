# SPDX-License-Identifier: MIT
"""What the proofs share: a fake of their own, a repository with a small workflow, and lines of TAP without numbers."""
import contextlib
import pathlib
import sys
import tempfile
import time
import traceback

import client

REPO = "ada/kernels"
RESULT = b"42\n"
WORKFLOW = """\
name: proof
run-name: ${{ inputs.run_name }}
on:
  workflow_dispatch:
    inputs:
      payload: {type: string, required: true}
      runner: {type: string, default: '["ubuntu-24.04"]'}
      run_name: {type: string, default: none}
env: {EVERYWHERE: 'yes'}
jobs:
  one:
    runs-on: ${{ fromJSON(inputs.runner) }}
    steps:
      - uses: actions/checkout@v5
      - name: work
        id: work
        env: {KEY: '${{ secrets.KETTLE_KEY }}', PAYLOAD: '${{ inputs.payload }}', RUN: '${{ github.run_id }}-${{ github.run_attempt }}'}
        run: |
          echo "the key is $KEY, and the run $RUN; $EVERYWHERE"
          mkdir result
          eval "$PAYLOAD" >result/result.kettle
          echo "LATER=$(cat .github/marker)" >>"$GITHUB_ENV"
          echo "size=3" >>"$GITHUB_OUTPUT"
      - if: failure() && !cancelled()
        run: echo "it failed"
      - if: env.LATER == 'MARK' && steps.work.outputs.size == 3 && !contains(inputs.runner, 'windows')
        run: echo "later is $LATER"
      - if: always()
        uses: actions/upload-artifact@v6
        with: {name: kettle-result, path: result/, if-no-files-found: ignore}
"""


@contextlib.contextmanager
def served(**settings):
    """A fake with a repository; the spacing of libraries is their own business."""
    with tempfile.TemporaryDirectory(prefix="kettle-proof-") as folder:
        folder = pathlib.Path(folder)
        (folder / ".github" / "workflows").mkdir(parents=True)
        (folder / ".github" / "workflows" / "kettle.yml").write_text(WORKFLOW)
        (folder / ".github" / "marker").write_text("mark")
        with client.Fake(sys.executable, interrupt_ms=50, terminate_ms=50, **settings) as fake:
            fake.folder, fake.token = folder, fake.tokens[0]
            fake.repo(REPO, folder, secrets={"KETTLE_KEY": "a-very-secret-key"})
            yield fake


def inputs(payload="echo 42", name="one"):
    return {"payload": payload, "run_name": name, "runner": '["self-hosted", "gpu"]'}


def passed(name, error=None, seconds=0):
    print(f"{'not ok' if error else 'ok'} - {name}" + f"\n# {seconds:.1f} s" * (seconds > 1), flush=True)
    if error:
        print("".join(f"# {line}\n" for line in "".join(traceback.format_exception(error)).splitlines()), end="", flush=True)


def go_through(who, steps, *given):
    """Runs the steps in order; one that fails does not stop the others."""
    for step in steps:
        began = time.monotonic()
        try:
            step(*given)
            passed(f"{who}: {step.__doc__}", seconds=time.monotonic() - began)
        except Exception as error:
            passed(f"{who}: {step.__doc__}", error)


def unbroken(fake):
    """Fails if the description or the fake itself was broken, or a client did what it should not."""
    assert not fake.violations(), fake.violations()[:5]
