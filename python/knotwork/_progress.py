"""A bar that shows how far a query, an algorithm or a load has come: in terminals, and in notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

#: What can be passed as ``progress=``: ``True`` for a bar, or what is called with steps done and steps in all.
Progress = Union[bool, Callable[[int, int], Any], None]

_WIDTH = 30
_STEP = 0.1


def in_notebook() -> bool:
    """True if this runs in a notebook, where output is HTML."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


class Bar:
    """A bar. It is a context manager, and is called with steps done and steps in all."""

    def __init__(self, title: str, stream: Any = None) -> None:
        self.title = title
        self.stream = stream if stream is not None else sys.stderr
        self.start = time.monotonic()
        self._shown = 0.0
        self._handle: Any = None
        self._is_notebook = stream is None and in_notebook()
        self._is_terminal = bool(getattr(self.stream, "isatty", lambda: False)())

    def text(self, done: int, total: int) -> str:
        """The bar as one line."""
        seconds = time.monotonic() - self.start
        if total <= 0:
            return f"{self.title}: {done:,} steps, {seconds:.1f} s" if done else f"{self.title}: {seconds:.1f} s"
        part = min(done / total, 1.0)
        filled = int(part * _WIDTH)
        rest = f", {seconds / part - seconds:.1f} s left" if 0 < part < 1 else ""
        return f"{self.title}: {part:4.0%} |{'█' * filled}{' ' * (_WIDTH - filled)}| {done:,}/{total:,}, {seconds:.1f} s{rest}"

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._shown < _STEP:
            return
        self._shown = now
        self._show(self.text(done, total))

    def _show(self, text: str) -> None:
        if self._is_notebook:
            from IPython.display import HTML, display
            from html import escape

            page = HTML(f"<pre style='margin:0'>{escape(text)}</pre>")
            if self._handle is None:
                self._handle = display(page, display_id=True)
            else:
                self._handle.update(page)
        elif self._is_terminal:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._shown and self._is_terminal and not self._is_notebook:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


class _Plain:
    def __init__(self, call: Optional[Callable[[int, int], Any]]) -> None:
        self.call = call

    def __enter__(self) -> Optional[Callable[[int, int], Any]]:
        return self.call

    def __exit__(self, *_exception: object) -> None:
        pass


def shown(progress: Progress, title: str) -> Any:
    """A context manager that gives what is to be called, or ``None``."""
    if progress is True:
        return Bar(title)
    return _Plain(progress if callable(progress) else None)
