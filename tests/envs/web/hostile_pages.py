"""A page whose buttons and links do the worst that a page can do to who looks at it."""

# ruff: noqa: E501  # scripts of a page stay on one line
from __future__ import annotations

SPOIL = """
const spoil = () => {
  for (const kind of [Array, String, Object, Map, Set, WeakMap, Promise, RegExp, Function, Number, Date, EventTarget,
    Node, Element, HTMLElement, Document, CustomEvent, Event, MouseEvent, WeakRef])
    for (const name of Object.getOwnPropertyNames(kind.prototype))
      if (!["constructor", "toString", "valueOf", "length", "addEventListener"].includes(name)) {
        try { kind.prototype[name] = null; } catch {}
      }
  for (const name of ["Map", "Set", "WeakMap", "JSON", "Promise", "Array", "Object", "Reflect", "setTimeout", "Symbol",
    "setInterval", "MutationObserver", "getComputedStyle", "RegExp", "CustomEvent", "Event", "MouseEvent", "WeakRef",
    "Math", "Date", "URL", "performance", "String", "Number", "Error", "TypeError", "eval", "DOMRect", "NodeFilter"]) {
    try { window[name] = null; } catch {}
  }
};"""
LISTENS = """
document.getElementById("heard").addEventListener("click", () => { document.title = "heard"; });
document.getElementById("set").onclick = () => { document.title = "set"; };"""
"""Two elements that nothing but their listeners shows to be of use."""
BUTTONS = {
    "Spoil": "spoil()",
    "Trap": "Object.defineProperty(Object.prototype, 'toJSON', { value: () => 'x' }); delete Array.prototype[Symbol.iterator];"
    " Object.defineProperty(Array.prototype, '0', { set() { throw 1 } }); Object.prototype.get = 3",
    "Own": "window.__pixelis = null; for (const k in window.__pixelis) window.__pixelis[k] = null",
    "Close": "const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.close.call(window); window.close()",
    "Alerts": "while (true) alert('a')",
    "Frame": "const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.confirm('x')",
    "Unload": "window.onbeforeunload = e => { e.preventDefault(); return 'stay'; }; location = '/two'",
    "Write": "document.open(); document.write('<h1>Written</h1><button>New</button>'); document.close()",
    "Root": "document.documentElement.remove()",
    "Body": "document.body.remove()",
    "History": "for (let i = 0; i < 120; i++) history.pushState(0, '', '/p' + i)",
    "Replace": "history.replaceState(0, '', '/gone')",
    "Reload": "location.reload()",
    "Again": "setInterval(() => location.reload(), 1)",
    "Full": "document.documentElement.requestFullscreen()",
    "Modal": "const d = document.createElement('dialog'); d.textContent = 'hi'; document.body.append(d); d.showModal()",
    "Popups": "for (let i = 0; i < 5; i++) { const a = document.createElement('a'); a.target = '_blank'; a.href = '/two'; a.click(); }",
    "Throw": "throw null",
    "Blank": "location = 'about:blank'",
    "Blob": "location = URL.createObjectURL(new Blob(['<h1>Blob</h1>'], { type: 'text/html' }))",
    "Data": "location = 'data:text/html,x'",
    "Gone": "location = '/gone'",
    "Off": "location = 'http://127.0.0.2/'",
    "Lone": "document.title = '\\ud800'; document.body.append('\\udc00')",
    "Frames": "document.body.innerHTML = '<iframe srcdoc=\\'<script>parent.location=`/two`</script>\\'></iframe>'",
}
SLOW = {
    "Hang": "while (true);",
    "Deep": "let e = document.body; for (let i = 0; i < 6000; i++) { const d = document.createElement('div'); e.append(d); e = d; } e.textContent = 'x'",
    "Poison": "localStorage.hang = '1'; while (true);",
}
"""Each costs the time that a page is given to answer, or most of it."""
LINKS = (
    "data:text/html,x", "javascript:void 0", "javascript:'<h1>text</h1>'", "JAVA\tSCRIPT:void 0", "mailto:a@b",
    "tel:1", "odd:thing", "about:blank", "chrome://crash", "view-source:/two", "http://[bad", "ftp://127.0.0.1/",
    "filesystem:http://x/", "#x", "", "/two", "/file", "/gone", "file:///etc/passwd", "http://127.0.0.2/",
)  # fmt: skip
FORMS = (
    "action='data:x'",
    "action='mailto:x' method=post",
    "action='/two' target=_blank",
    "method=dialog",
    "action='//['",
)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def hostile_page(spoilt: bool = False) -> str:
    """Return the page; ``spoilt``: the built-ins are gone when it is loaded."""
    buttons = "".join(
        f'<button onclick="{_quoted(what)}">{name}</button>' for name, what in {**BUTTONS, **SLOW}.items()
    )
    links = "".join(f'<a href="{_quoted(where)}">Link {n}</a> ' for n, where in enumerate(LINKS))
    forms = "".join(f"<form {how}><button>Form {n}</button></form>" for n, how in enumerate(FORMS))
    return (
        f"<title>Start</title><h1>Start</h1><script>{SPOIL} if (localStorage.hang) while (true);</script>{buttons}"
        f"<p id=heard>heard</p><p id=set>set</p><input aria-label=Field><select><option>A<option>B</select>{links}{forms}"
        f"<script>{LISTENS}{'spoil()' if spoilt else ''}</script>"
    )
