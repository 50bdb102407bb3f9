// Finding where to press an element, and the actions that need no mouse. After snapshot.js, in every frame.
(() => {
  const page = window.__pixelis;
  if (!page || page.aim) return;
  const TEXT_TYPES = new Set(["text", "search", "url", "tel", "email", "password", "number"]);
  const SET_TYPES = { date: "YYYY-MM-DD", time: "HH:MM", month: "YYYY-MM", week: "YYYY-Www", "datetime-local": "YYYY-MM-DDTHH:MM", color: "#rrggbb", range: "a number" };
  const tagOf = element => element.localName;
  const refused = (code, message = "") => ({ error: [code, message] });

  // ---- where an element is, and whether the mouse reaches it
  const inside = frame => {  // where its document begins in the one around it, and how much larger than its own a pixel is there
    const box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
    const across = box.width / frame.offsetWidth || 1, down = box.height / frame.offsetHeight || 1;
    const left = frame.clientLeft + parseFloat(style.paddingLeft), top = frame.clientTop + parseFloat(style.paddingTop);
    return { left: box.left + across * left, top: box.top + down * top, across, down };
  };
  const inWindow = (element, x, y) => {  // a point of the element's frame, in the window
    for (let view = element.ownerDocument.defaultView; view && view.frameElement; view = view.parent) {
      const { left, top, across, down } = inside(view.frameElement);
      [x, y] = [left + across * x, top + down * y];
    }
    return { x, y };
  };
  const deepest = (x, y) => {
    let root = document, found = null, [left, top] = [x, y];
    for (;;) {
      const next = root.elementFromPoint(left, top);
      if (!next || next === found) return found;
      found = next;
      if (found.shadowRoot) root = found.shadowRoot;
      else if (tagOf(found) === "iframe" && innerDocument(found)) {
        const place = inside(found);
        [left, top] = [(left - place.left) / place.across, (top - place.top) / place.down];
        root = innerDocument(found);
      } else return found;
    }
  };
  const innerDocument = frame => { try { return frame.contentDocument; } catch { return null; } };
  const above = node => node.assignedSlot || node.parentElement || (node.getRootNode() && node.getRootNode().host)
    || (node.ownerDocument.defaultView && node.ownerDocument.defaultView.frameElement) || null;
  const within = (node, element) => {
    for (let one = node; one; one = above(one)) {
      if (one === element || (tagOf(one) === "label" && one.control === element)) return true;
    }
    return false;
  };
  const drawn = element => {  // what to press: a field that is drawn by its label stands for the label
    const own = boxes(element);
    const isDrawn = own.length && (!page.settings.foreign || (own.some(box => box.width > 2 || box.height > 2) && !isInvisible(element)));
    if (isDrawn || !element.labels) return own.length ? element : null;
    const label = Array.prototype.find.call(element.labels, one => boxes(one).length && !isInvisible(one));
    return label || (own.length ? element : null);
  };
  const boxes = element => {
    const own = Array.from(element.getClientRects()).filter(box => box.width > 0 && box.height > 0);
    if (own.length) return own;
    const box = element.getBoundingClientRect();  // a line in a drawing has no height
    if (box.width + box.height > 0 && element.namespaceURI.endsWith("svg")) return [new DOMRect(box.x, box.y, Math.max(1, box.width), Math.max(1, box.height))];
    return Array.from(element.children).flatMap(child => getComputedStyle(child).display === "none" ? [] : boxes(child));
  };
  const GRID = [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .5], [.9, .5], [.5, .1], [.5, .9], [.25, .25], [.75, .75], [.25, .75], [.75, .25], [.04, .04], [.96, .96]];
  const LIVE = "a[href], button, input, select, textarea";  // what a press on a label reaches, and not the label's field
  const inLabel = (node, field) => {
    const label = page.settings.foreign && drawn(field), own = label && label !== field && node.nodeType === 1 && node.closest(LIVE);
    return own && own !== field && within(own, label) ? own : null;
  };
  const reach = (element, at, field = element) => {
    let cover = null, second = null;
    for (const box of boxes(element).slice(0, 8))
      for (const [across, down] of at ? [at] : GRID) {
        const { x, y } = inWindow(element, box.left + across * box.width, box.top + down * box.height);
        const hit = deepest(x, y);
        if (hit && (at ? within(hit, element) || within(element, hit) : within(hit, element))) {
          const other = inLabel(hit, field);
          if (!other && (at || !page.isWrapper(element) || !page.innerControl(hit, element))) return { x, y };
          // another control lies there, inside this one: only if there is no other place, and never for what its label stands for
          second = second || { x, y, refusal: other && refused("covered", covering(other)) };
        }
        cover = cover || hit;
      }
    return second || { cover };
  };
  const isInvisible = element => getComputedStyle(element).visibility !== "visible";
  const aim = (element, at = null) => {
    const target = drawn(element);
    if (!target || isInvisible(target)) return refused("hidden");
    let place = reach(target, at, element);
    if (place.x === undefined) {
      target.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      place = reach(target, at, element);
    }
    if (place.x !== undefined) return place;
    if (!place.cover) return refused("hidden");
    if (page.isDisabled(element) && place.cover.contains(target)) return refused("disabled");  // its style lets the mouse through
    if (page.settings.foreign && place.cover.contains(target) && getComputedStyle(target).pointerEvents === "none") return refused("disabled", "The element does not take the mouse.");
    return refused("covered", page.settings.foreign ? covering(place.cover) : "");
  };
  const toldOf = element => {
    const [kind, name] = page.nameOf(element);
    return [kind === "clickable" ? tagOf(element) : kind, name];
  };
  const words = element => {
    const [kind, name] = toldOf(element);
    return name ? `${kind} "${name.slice(0, 40)}"` : kind;
  };
  const covering = element => `Something lies over the element: ${words(element)}. Close or move it first.`;
  const find = (key, token) => token === page.document ? page.element(key) : null;

  const isFollowed = element => {  // whether a script hears of each movement of the mouse there
    for (let one = element; one; one = above(one)) {
      const home = (one.ownerDocument.defaultView || window).__pixelis || page;
      if (one.nodeType === 1 && home.hearsMoves(one)) return true;
    }
    return false;
  };
  page.aim = (key, token, at = null, onlyMove = false) => {
    const element = find(key, token);
    if (!element) return refused("stale");
    const place = aim(element, at);
    if (!place.error) place.follows = isFollowed(element);
    if (place.error || onlyMove) return place;
    if (page.isDisabled(element)) return refused("disabled");
    if (place.refusal) return place.refusal;
    const tag = tagOf(element);
    if (tag === "select") return { ...place, kind: "select" };
    if (tag === "input" && element.type === "file") return refused("not_editable", "Files cannot be chosen here.");
    const link = element.closest && element.closest("a[href], area[href]");
    if (link && tagOf(link) !== "svg") {
      link.removeAttribute("target");
      return { ...place, kind: "link", href: String(link.href), download: link.hasAttribute("download") };
    }
    const form = element.form || (element.closest && element.closest("form"));
    if (form && form.target) form.removeAttribute("target");
    return { ...place, kind: "element" };
  };
  // After the mouse has moved there: a :hover style may have moved the element, or be loading an image still.
  page.isThere = (key, x, y, at = null) => {
    const element = page.element(key), target = element && drawn(element), hit = deepest(x, y);
    return Boolean(hit && target && (within(hit, target) || (at && within(target, hit))));
  };
  page.settle = (key, x, y, at = null) => new Promise(done => {
    const element = page.element(key);
    startPress(element);
    let tries = 0, moved = 0, last = "";
    const look = () => {
      tries += 1;
      if (!element || !element.isConnected) return done(refused("stale"));
      const target = drawn(element), hit = deepest(x, y), box = target && JSON.stringify(target.getBoundingClientRect());
      const there = hit && target && (within(hit, target) || at);
      const styled = hit && (hit.matches(":hover") || tries > 5);  // only then does the layout have the :hover style in it
      if (there && styled && (moved === 0 || box === last)) return done({ x, y });
      if (!there) moved += 1;
      last = box;
      if (tries < 30) return page.later(look, tries < 3 ? 2 : 20);
      done(aim(element, at));
    };
    look();
  });

  // ---- typing
  const editable = element => {
    const tag = tagOf(element);
    if (element.isContentEditable) return "keys";
    if (tag === "textarea") return element.readOnly ? null : "keys";
    if (tag !== "input" || element.readOnly) return null;
    return TEXT_TYPES.has(element.type) ? "keys" : SET_TYPES[element.type] ? "set" : null;
  };
  const typable = (key, token) => {
    const element = find(key, token);
    if (!element) return refused("stale");
    const place = aim(element);
    if (place.error) return place;
    if (page.isDisabled(element)) return refused("disabled");
    const how = editable(element);
    if (!how) return refused("not_editable");
    return { element, how };
  };
  page.focusForTyping = (key, token) => {
    const { element, how, error } = typable(key, token);
    if (error) return { error };
    element.focus();
    if (how === "keys") {
      if (element.select && element.type !== "number") element.select();
      else if (element.select) element.select();
      else element.ownerDocument.defaultView.getSelection().selectAllChildren(element);
    }
    return { how, empty: !(element.value === undefined ? element.innerText.trim() : element.value) };
  };
  page.holds = key => {
    const element = page.element(key);
    return element === null ? null : element.value === undefined ? element.innerText : element.value;
  };
  const setter = element => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value").set;
  const fill = (element, text) => {
    const limit = element.type === "number" || element.type === "range" ? -1 : element.maxLength;
    const wanted = limit >= 0 ? Array.from(text).slice(0, limit).join("") : text;
    if (element.isContentEditable) element.textContent = wanted;
    else setter(element).call(element, wanted);
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return (element.value === undefined ? element.textContent : element.value) === text;
  };
  page.setValue = (key, text) => {
    const element = page.element(key);
    return fill(element, text) ? {} : { notice: `The field did not take that text. It takes ${SET_TYPES[element.type]}.` };
  };

  // ---- choosing
  page.select = (key, token, wanted) => {
    const element = find(key, token);
    if (!element) return refused("stale");
    const place = aim(element);
    if (place.error) return place;
    if (page.isDisabled(element)) return refused("disabled");
    if (tagOf(element) !== "select") return refused("not_editable");
    const shown = Array.from(element.options).filter(one => !one.hasAttribute("hidden"));
    const plain = text => page.collapse(text).toLowerCase();
    const option = shown.find(one => page.optionLabel(one) === page.collapse(wanted)) || shown.find(one => plain(page.optionLabel(one)) === plain(wanted));
    if (!option) return refused("no_such_option", `There is no such option. There are: ${shown.slice(0, 8).map(page.optionLabel).join(", ")}.`);
    if (option.matches(":disabled")) return refused("disabled", "This option is disabled.");
    if (page.settings.foreign) element.focus();
    if (element.multiple) option.selected = !option.selected;
    else option.selected = true;
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return {};
  };

  // ---- pages of others: when has an action had its effect?
  page.quiet = (still, longest) => new Promise(done => {
    let left = still, total = 0;
    const watch = new MutationObserver(() => { left = still; });
    watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const look = () => {
      left -= 10;
      total += 10;
      if (left > 0 && total < longest) return page.later(look, 10);
      watch.disconnect();
      done();
    };
    page.later(look, 10);
  });
  page.focus = (key, token) => {
    const element = find(key, token);
    if (!element) return refused("stale");
    const place = aim(element);
    if (place.error) return place;
    if (page.isDisabled(element)) return refused("disabled");
    element.focus();
    return {};
  };
  page.point = (key, token, at, by) => {  // where a drag ends: also where something else lies over it
    const element = find(key, token);
    if (!element) return refused("stale");
    const box = boxes(element)[0];
    if (!box) return refused("hidden");
    const [across, down] = at || [.5, .5], [right, lower] = by || [0, 0];
    const { x, y } = inWindow(element, box.left + across * box.width, box.top + down * box.height);
    return { x: x + right, y: y + lower };
  };
  page.selectText = (key, token, text) => {
    const element = key === null ? document.body : find(key, token);
    if (!element) return refused("stale");
    const owner = element.ownerDocument, range = owner.createRange();
    if (element.select && element.value !== undefined) {
      const start = text ? element.value.indexOf(text) : 0;
      if (start < 0) return refused("no_such_option", "There is no such text in it.");
      element.focus();
      element.setSelectionRange(start, text ? start + text.length : element.value.length);
      return {};
    }
    const nodes = [], walker = owner.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) nodes.push(walker.currentNode);
    const whole = nodes.map(node => node.data).join("");
    const start = text ? whole.indexOf(text) : 0;
    if (start < 0) return refused("no_such_option", "There is no such text in it.");
    const place = offset => {
      for (const node of nodes) { if (offset <= node.data.length) return [node, offset]; offset -= node.data.length; }
      return [element, element.childNodes.length];
    };
    range.setStart(...place(start));
    range.setEnd(...place(start + (text || whole).length));
    const selection = owner.defaultView.getSelection();
    if (element.isContentEditable) element.focus();
    selection.removeAllRanges();
    selection.addRange(range);
    element.dispatchEvent(new MouseEvent("mouseup", { bubbles: true }));
    return {};
  };
  // Some pages put an element anew into the document whenever the mouse is over it; then a press of the mouse
  // reaches only what lies behind. The element is told of it in the way scripts do.
  const told = {};
  page.watchPress = element => { Object.assign(told, { element, down: null, click: null, hit: true, up: null, released: null }); };
  page.watchPress(null);
  for (const kind of ["pointerdown", "mousedown"])  // a page may keep the second from coming
    window.addEventListener(kind, event => {
      if (!event.isTrusted) return;
      const { element } = told, down = told.down = event.composedPath()[0];
      told.hit = !element || (within(down, drawn(element) || element) && !inLabel(down, element));  // now: the press may move things
    }, true);
  for (const kind of ["pointerup", "mouseup"])
    window.addEventListener(kind, event => {
      if (event.isTrusted) Object.assign(told, { up: event.composedPath()[0], released: [event.clientX, event.clientY] });
    }, true);
  window.addEventListener("click", event => { if (event.isTrusted) told.click = event.composedPath()[0]; }, true);
  page.pressed = () => told;
  const homeOf = element => (element.ownerDocument.defaultView || window).__pixelis || page;  // a frame hears for itself
  const startPress = element => {
    page.watchPress(element);
    if (element && homeOf(element) !== page) homeOf(element).watchPress(element);
  };
  const ranAway = (element, { click, released: [x, y] }) => {  // between the press and the release
    const target = drawn(element) || element;
    if (within(click, target) || !click.contains(target)) return false;
    const places = boxes(target);
    return places.length > 0 && !places.some(box => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom);
  };
  const tell = (element, at) => {  // returns what was pressed instead, if the element was not
    if (!told.element) return null;
    const seen = homeOf(told.element).pressed(), { down, click } = seen.down ? seen : told;
    if (!down || down.nodeType !== 1) return null;
    if (seen.down && seen.hit) return seen.click && element && ranAway(element, seen) ? [] : null;
    if (at && within(told.element, down)) return null;
    const behind = element && down.contains(element);
    if (!behind) return toldOf(down);
    if (at || (click && within(click, element))) return null;
    const around = { bubbles: true, cancelable: true, composed: true, view: window };
    for (const [kind, type] of [[PointerEvent, "pointerdown"], [MouseEvent, "mousedown"], [PointerEvent, "pointerup"], [MouseEvent, "mouseup"], [MouseEvent, "click"]])
      element.dispatchEvent(new kind(type, around));
    return null;
  };
  const lost = element => {  // what is to be said of a press that reached the element but is no click on it
    if (!element || !told.element) return "";
    const seen = homeOf(element).pressed(), { hit, down, up, click } = seen.down ? seen : told, target = drawn(element);
    if (!down || !hit || !up || up.nodeType !== 1 || !target || (click && within(click, element))) return "";
    if (!click && page.isDisabled(element)) return "The element became disabled under the mouse, so that it was not clicked.";
    return within(up, target) || up.contains(target) ? "" : `The mouse was let go over ${words(up)}, which the press brought up: the element was pressed, and not clicked.`;
  };
  page.finish = (milliseconds, pressed = null, token = "", at = null) => {
    const element = pressed === null ? null : find(pressed, token), missed = pressed === null ? null : tell(element, at);
    const said = missed ? "" : lost(element);
    if (page.advance) page.advance(milliseconds);
    const snapshot = page.snapshot();
    return { leaving: page.left(), invalid: page.refusal(), snapshot, watched: page.watched, copied: page.takeCopied(), missed, said };
  };
  page.reveal = key => {
    const element = key === null ? null : page.element(key);
    if (element) element.scrollIntoView({ block: "start", behavior: "instant" });
    else window.scrollTo({ top: 0, left: 0, behavior: "instant" });
  };

  // ---- one call a step, for pages of our own: act, let one step go by, look
  const send = field => {  // what Enter does in a field
    const form = field.form;
    if (!form) return;
    const button = Array.prototype.find.call(form.querySelectorAll("button, input"), one => one.form === form && ["submit", "image"].includes(one.type));
    if (button) { if (!aim(button).error && !page.isDisabled(button)) button.click(); return; }
    const fields = Array.prototype.filter.call(form.elements, one => tagOf(one) === "input" && (TEXT_TYPES.has(one.type) || (SET_TYPES[one.type] && !["color", "range"].includes(one.type))));
    if (fields.length <= 1) form.requestSubmit();
  };
  const doing = {
    click: ({ key, token, origin }) => {
      const place = page.aim(key, token);
      if (place.error) return place;
      if (place.kind === "link" && new URL(place.href, location.href).origin !== origin) return refused("off_site");
      if (place.kind !== "select") page.element(key).click();
      return {};
    },
    type: ({ key, token, text, submit }) => {
      const { element, error } = typable(key, token);
      if (error) return { error };
      const notice = fill(element, text) ? "" : "The field did not take that text.";
      if (submit && tagOf(element) === "input") send(element);
      return { notice };
    },
    select: ({ key, token, option }) => page.select(key, token, option),
    wait: () => ({}),
  };
  const validity = field => ["valueMissing", "typeMismatch", "patternMismatch", "tooShort", "tooLong", "rangeUnderflow", "rangeOverflow", "stepMismatch", "badInput"].find(one => field.validity[one]) || "badInput";
  page.refusal = () => {
    const field = page.invalid;
    page.invalid = null;
    return field ? [...page.nameOf(field), validity(field)] : null;
  };
  page.act = action => {
    page.leaving = null;
    page.invalid = null;
    const done = doing[action.kind](action);
    if (done.error) return done;
    if (page.left()) return { leaving: true, notice: done.notice || "" };
    page.tick();
    return { notice: done.notice || "", invalid: page.refusal(), snapshot: page.snapshot() };
  };
})();
