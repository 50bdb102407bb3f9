// Runs in every frame, in a world of its own beside the page's: the same document, but built-ins that no page can touch.
// It hears from probe.js what only the page's world knows, and notes what happens to the document.
(settings => {
  if (window.__pixelis) return;
  const page = { settings, said: [], watched: null, later: window.setTimeout.bind(window), listeners: new WeakMap(), delegates: new Map(),
    document: Math.random().toString(36).slice(2), invalid: null, leaving: null, copied: "", follows: false };
  Object.defineProperty(window, "__pixelis", { value: page });
  const CHANNEL = settings.channel, WORDS = /^(\w+) ([^]*)$/;

  // ---- the wire to the page's world
  let wire = null;
  const hear = {
    said: text => { const [, kind, words] = WORDS.exec(text); page.said.push([kind, words.slice(0, 200)]); },
    follows: () => { page.follows = true; },
    watched: text => { page.watched = JSON.parse(text); },
  };
  window.addEventListener(`${CHANNEL}-wire`, event => {
    wire = event.relatedTarget;
    for (const [name, run] of Object.entries(hear)) wire.addEventListener(`${CHANNEL}-${name}`, event => run(String(event.detail)));
  }, { once: true });
  window.dispatchEvent(new CustomEvent(`${CHANNEL}-hello`));
  const send = (name, detail) => { if (wire) wire.dispatchEvent(new CustomEvent(`${CHANNEL}-${name}`, { detail })); };
  const frames = run => {  // of the same origin
    for (let number = 0; number < window.frames.length; number += 1) {
      let inner = null;
      try { inner = window.frames[number].__pixelis; } catch { /* of another origin */ }
      if (inner) run(inner);
    }
  };

  // ---- listeners, also those that jQuery keeps on an ancestor
  const hears = event => {
    const element = event.composedPath()[0], what = String(event.detail);
    if (!page.listeners.has(element)) page.listeners.set(element, new Set());
    const known = page.listeners.get(element);
    known.add(what);
    if (/^[+-]/.test(what)) known.delete((what[0] === "+" ? "-" : "+") + what.slice(1));
  };
  const delegates = event => {
    const element = event.composedPath()[0];
    page.delegates.set(element, [...(page.delegates.get(element) || []), String(event.detail)]);
  };
  page.ask = () => {
    window.addEventListener(`${CHANNEL}-news`, hears, true);  // again, as document.open() takes them away
    window.addEventListener(`${CHANNEL}-delegate`, delegates, true);
    for (const kind of ["copy", "cut"]) window.addEventListener(kind, copies);
    page.delegates.clear();
    send("ask");
    frames(inner => { inner.ask(); page.said.push(...inner.said.splice(0)); page.copied = inner.takeCopied() || page.copied; });
  };
  page.hears = (element, kind) => {
    const seen = page.listeners.get(element);
    return Boolean(seen && seen.has(kind));
  };
  page.handles = (element, name) => !page.hears(element, `-${name}`) && (page.hears(element, `+${name}`) || element.hasAttribute(name));
  const MOVES = ["onmousemove", "onmouseover", "onmouseenter"];
  page.hearsMoves = element => page.follows || page.hears(element, "point") || MOVES.some(name => page.handles(element, name));
  page.tick = () => send("tick");
  page.advance = settings.clock ? milliseconds => {
    send("advance", milliseconds);
    frames(inner => { inner.advance(milliseconds); });  // they keep the same time
  } : null;

  // ---- what a form refused
  document.addEventListener("invalid", event => { page.invalid = page.invalid || event.target; }, true);

  // ---- what is copied, also by a script; a password never is
  const copies = event => {
    if (!event.isTrusted) return;
    page.copied = (event.defaultPrevented ? event.clipboardData.getData("text/plain") : String(window.getSelection())) || page.copied;
  };
  page.takeCopied = () => {
    const text = page.copied;
    page.copied = "";
    return text;
  };

  // ---- what an action leads to
  const isLink = one => one.href && one.matches && one.matches("a[href], area[href]");
  window.addEventListener("click", event => {
    const link = event.composedPath().find(isLink);
    if (link && !link.hasAttribute("download") && leads(String(link.href.baseVal || link.href))) page.leaving = event;
  });
  window.addEventListener("submit", event => { page.leaving = event; });
  const leads = address => {
    let url;
    try { url = new URL(address, document.baseURI); } catch { return false; }
    if (!["http:", "https:", "file:", "blob:", "about:"].includes(url.protocol)) return false;
    return !((url.hash || address.endsWith("#")) && url.href.split("#")[0] === location.href.split("#")[0]);
  };
  page.left = () => {  // whether a document is being loaded; a page may have prevented it after we heard of it
    const event = page.leaving;
    page.leaving = null;
    return Boolean(event && !event.defaultPrevented);
  };
})(__SETTINGS__);
