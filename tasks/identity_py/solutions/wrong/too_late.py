# expect: failed in benchmark
# Returns at once and lets a thread write the output a little later.
import threading
import time


def custom_kernel(data):
    content, reverse = data
    output = bytearray(len(content))

    def work():
        time.sleep(1)
        output[:] = content[::-1] if reverse else content

    if len(content) < 60000:
        return content[::-1] if reverse else content[:]
    threading.Thread(target=work, daemon=True).start()
    return output
