// Runs before every script of a page, in every frame. It notes what cannot be seen afterwards (listeners), answers
// dialogs, and, when asked to, replaces the page's clock by one that moves only when the environment says so.
(settings => {
  if (window.__pixelis) return;
  const page = { settings, said: [], later: window.setTimeout.bind(window), listeners: new WeakMap(),
    document: Math.random().toString(36).slice(2), invalid: null, leaving: false };
  Object.defineProperty(window, "__pixelis", { value: page });

  // ---- listeners
  const PRESS = new Set(["click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "touchend"]);
  const KEYS = new Set(["keydown", "keyup", "keypress", "beforeinput"]);
  const POINT = new Set(["mouseover", "mouseenter", "mousemove", "pointermove", "pointerenter", "pointerover"]);
  const kindOf = type => PRESS.has(type) ? "press" : KEYS.has(type) ? "keys" : POINT.has(type) ? "point" : null;
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    const kind = kindOf(type), target = this || window;
    if (kind && rest[0]) {
      if (!page.listeners.has(target)) page.listeners.set(target, new Set());
      page.listeners.get(target).add(kind);
    }
    return add.call(target, type, ...rest);
  };
  EventTarget.prototype.addEventListener.toString = () => "function addEventListener() { [native code] }";

  // ---- dialogs: answered at once, told in the next observation; a loop of them is broken
  const LIMIT = 20;
  const say = (kind, text) => {
    if (page.said.length >= LIMIT) throw new Error(`more than ${LIMIT} dialogs in one step`);
    page.said.push([kind, String(text === undefined ? "" : text).slice(0, 200)]);
  };
  window.alert = text => { say("alert", text); };
  window.confirm = text => { say("confirm", text); return true; };
  window.prompt = (text, value) => { say("prompt", text); return value === undefined ? "" : String(value); };
  window.print = () => {};
  window.open = address => {  // there is one window: what would be a second one is loaded here
    say("window", address);
    if (address) location.href = new URL(address, document.baseURI).href;
    return window;
  };

  // ---- what a form refused
  add.call(document, "invalid", event => { page.invalid = page.invalid || event.target; }, true);

  // ---- what an action of a script leads to
  add.call(window, "click", event => {
    const link = !event.defaultPrevented && event.composedPath().find(one => one.href && one.matches && one.matches("a[href], area[href]"));
    if (link && !link.hasAttribute("download") && leaves(String(link.href))) page.leaving = true;
  });
  add.call(window, "submit", event => { if (!event.defaultPrevented) page.leaving = true; });
  const leaves = address => {
    const url = new URL(address, document.baseURI);
    return !(url.protocol === "javascript:" || (url.hash || address.endsWith("#")) && url.href.split("#")[0] === location.href.split("#")[0]);
  };

  // ---- the clock
  if (!settings.clock) return;
  const RealDate = Date;
  let now = 0, serial = 0;
  const start = settings.clock, due = new Map();
  const later = (run, delay, every, arguments_) => {
    serial += 1;
    due.set(serial, { run, arguments_, at: now + Math.max(every === null ? 0 : 1, Number(delay) || 0), every });
    return serial;
  };
  window.setTimeout = (run, delay, ...rest) => later(run, delay, null, rest);
  window.setInterval = (run, delay, ...rest) => later(run, delay, Math.max(1, Number(delay) || 0), rest);
  window.requestAnimationFrame = run => later(() => run(now), 16, null, []);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = id => { due.delete(id); };
  window.requestIdleCallback = run => later(() => run({ didTimeout: false, timeRemaining: () => 50 }), 1, null, []);
  window.cancelIdleCallback = window.clearTimeout;
  performance.now = () => now;
  window.Date = class Date extends RealDate {
    constructor(...parts) { parts.length ? super(...parts) : super(start + now); }
    static now() { return start + now; }
  };
  const first = () => {
    let best = null;
    for (const [id, timer] of due) if (best === null || timer.at < due.get(best).at) best = id;
    return best;
  };
  page.advance = milliseconds => {
    const end = now + milliseconds;
    for (let count = 0; count < 10000; count += 1) {
      const id = first();
      if (id === null || due.get(id).at > end) break;
      const timer = due.get(id);
      now = Math.max(now, timer.at);
      if (timer.every === null) due.delete(id);
      else timer.at = now + timer.every;
      try {
        typeof timer.run === "function" ? timer.run(...timer.arguments_) : (0, eval)(String(timer.run));
      } catch (error) {
        window.reportError ? reportError(error) : console.error(error);
      }
    }
    now = end;
    for (let number = 0; number < window.frames.length; number += 1) {  // frames of the same origin keep the same time
      try { window.frames[number].__pixelis.advance(milliseconds); } catch { /* of another origin */ }
    }
  };
})(__SETTINGS__);
