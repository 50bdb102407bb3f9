// Runs in every frame before the scripts of its page, in the page's own world: it notes what cannot be seen from
// outside (listeners), answers dialogs, and, when asked to, replaces the page's clock by one that moves only when the
// environment says so. All else runs in a world of its own (eyes.js), which no page can disturb; the two talk by events
// on a node that the page never sees. What is needed later is kept here, as a page may overwrite it: no call of a method
// that could be looked up, no array and no spread after the first lines.
(settings => {
  if (window.__pixelis) return;
  const { apply, defineProperty } = Reflect, { getOwnPropertyDescriptor } = Object;
  const { addEventListener: add, dispatchEvent: dispatch } = EventTarget.prototype;
  const { CustomEvent, MouseEvent, WeakRef, URL, Number, String, JSON: { stringify }, eval: evaluate, reportError, location } = window;
  const getter = (kind, name) => getOwnPropertyDescriptor(kind.prototype, name).get;
  const deref = WeakRef.prototype.deref, detailOf = getter(CustomEvent, "detail"), isConnected = getter(Node, "isConnected");
  const namespaceOf = getter(Element, "namespaceURI");
  const page = { later: window.setTimeout.bind(window) };
  defineProperty(window, "__pixelis", { __proto__: null, value: page });

  // ---- the wire to the other world
  const CHANNEL = settings.channel, wire = document.createElement("i");
  const send = (target, name, detail) => {
    apply(dispatch, target, [new CustomEvent(`${CHANNEL}-${name}`, { __proto__: null, detail, composed: true })]);
  };
  const hear = (name, run) => {
    apply(add, wire, [`${CHANNEL}-${name}`, event => run(apply(detailOf, event, []))]);
  };
  const give = () => {
    apply(dispatch, window, [new MouseEvent(`${CHANNEL}-wire`, { __proto__: null, relatedTarget: wire })]);
  };

  // ---- listeners: told when asked, for elements that are in the document by then
  const PRESS = { __proto__: null, click: 1, dblclick: 1, mousedown: 1, mouseup: 1, pointerdown: 1, pointerup: 1, touchstart: 1, touchend: 1 };
  const KEYS = { __proto__: null, keydown: 1, keyup: 1, keypress: 1, beforeinput: 1 };
  const POINT = { __proto__: null, mouseover: 1, mouseenter: 1, mousemove: 1, pointermove: 1, pointerenter: 1, pointerover: 1 };
  const news = { __proto__: null }, hosts = { __proto__: null };
  let serial = 0, follows = false;
  const note = (element, what) => {
    try {
      apply(namespaceOf, element, []);  // throws for what is no element
    } catch {
      follows = follows || what === "point";  // document or window
      return;
    }
    serial += 1;
    news[serial] = { __proto__: null, element: new WeakRef(element), what };
    if (what === "press") hosts[serial] = new WeakRef(element);
  };
  EventTarget.prototype.addEventListener = function (type, listener) {
    const name = typeof type === "string" ? type : "", kind = PRESS[name] ? "press" : KEYS[name] ? "keys" : POINT[name] ? "point" : "";
    if (kind && listener && this) note(this, kind);
    return apply(add, this || window, arguments);
  };
  EventTarget.prototype.addEventListener.toString = () => "function addEventListener() { [native code] }";
  for (const kind of [HTMLElement, SVGElement])
    for (const name of ["onclick", "onmousedown", "onmouseup", "onmousemove", "onmouseover", "onmouseenter"]) {
      const own = getOwnPropertyDescriptor(kind.prototype, name);
      defineProperty(kind.prototype, name, {
        ...own,
        set(value) {
          apply(own.set, this, [value]);
          note(this, (apply(own.get, this, []) ? "+" : "-") + name);
        },
      });
    }
  const tellNews = () => {
    for (const id in news) {
      const element = apply(deref, news[id].element, []);
      if (element && !apply(isConnected, element, [])) continue;
      if (element) send(element, "news", news[id].what);
      delete news[id];
    }
  };
  const tellDelegates = () => {  // jQuery listens on an ancestor for what matches a selector
    const library = window.jQuery;
    if (!library || !library._data) return;
    for (const id in hosts) {
      const host = apply(deref, hosts[id], []);
      if (!host) delete hosts[id];
      if (!host || !apply(isConnected, host, [])) continue;
      const events = library._data(host, "events");
      for (const type in events && { __proto__: null, click: 1, mousedown: 1, mouseup: 1, dblclick: 1 }) {
        const list = events[type];
        for (let place = 0; list && place < list.length; place += 1) if (list[place].selector) send(host, "delegate", String(list[place].selector));
      }
    }
  };

  // ---- dialogs: answered at once, told in the next observation; a loop of them is broken
  const LIMIT = 20;
  let said = { __proto__: null }, count = 0;
  const say = (kind, text) => {
    if (count >= LIMIT) throw new Error(`more than ${LIMIT} dialogs in one step`);
    said[count] = `${kind} ${text === undefined ? "" : text}`;
    count += 1;
  };
  window.alert = text => { say("alert", text); };
  window.confirm = text => { say("confirm", text); return true; };
  window.prompt = (text, value) => { say("prompt", text); return value === undefined ? "" : String(value); };
  window.print = () => {};
  window.close = () => {};  // there is one window, and it stays
  window.open = address => {  // what would be a second one is loaded in it
    say("window", address);
    if (address) location.href = new URL(address, document.baseURI).href;
    return window;
  };

  // ---- what the other world asks for
  hear("ask", () => {
    tellNews();
    try { tellDelegates(); } catch { /* no jQuery that we know */ }
    for (let place = 0; place < count; place += 1) send(wire, "said", said[place]);
    said = { __proto__: null };
    count = 0;
    if (follows) send(wire, "follows", "");
    send(wire, "watched", watched());
  });
  const watch = () => (__WATCH__);
  const watched = () => {
    try {
      return stringify(watch());
    } catch {
      return "null";
    }
  };
  hear("tick", () => { if (window.pixelisTick) window.pixelisTick(); });
  hear("advance", milliseconds => { if (page.advance) page.advance(milliseconds); });
  apply(add, window, [`${CHANNEL}-hello`, give]);
  give();

  // ---- the clock
  if (!settings.clock) return;
  const RealDate = Date;
  let now = 0, timers = 0;
  const start = settings.clock, due = { __proto__: null };
  const later = (run, delay, every, given) => {
    timers += 1;
    delay = Number(delay) || 0;
    const least = every === null ? 0 : 1;
    due[timers] = { __proto__: null, run, given, at: now + (delay > least ? delay : least), every };
    return timers;
  };
  window.setTimeout = (run, delay, ...rest) => later(run, delay, null, rest);
  window.setInterval = (run, delay, ...rest) => later(run, delay, Number(delay) > 1 ? Number(delay) : 1, rest);
  window.requestAnimationFrame = run => later(() => run(now), 16, null, []);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = id => { delete due[id]; };
  window.requestIdleCallback = run => later(() => run({ didTimeout: false, timeRemaining: () => 50 }), 1, null, []);
  window.cancelIdleCallback = window.clearTimeout;
  performance.now = () => now;
  window.Date = class Date extends RealDate {
    constructor(...parts) { parts.length ? super(...parts) : super(start + now); }
    static now() { return start + now; }
  };
  const first = () => {
    let best = null;
    for (const id in due) if (best === null || due[id].at < due[best].at) best = id;
    return best;
  };
  page.advance = milliseconds => {
    const end = now + milliseconds;
    for (let turn = 0; turn < 10000; turn += 1) {
      const id = first();
      if (id === null || due[id].at > end) break;
      const timer = due[id];
      if (timer.at > now) now = timer.at;
      if (timer.every === null) delete due[id];
      else timer.at = now + timer.every;
      try {
        typeof timer.run === "function" ? apply(timer.run, window, timer.given) : evaluate(String(timer.run));
      } catch (error) {
        apply(reportError, window, [error]);
      }
    }
    now = end;
  };
})(__SETTINGS__);
