// The walk of docs/reference/web_pages.md in a browser: a document becomes lines of texts and controls.
(() => {
  const page = window.__pixelis;
  if (!page || page.snapshot) return;
  const words = text => new Set(text.split(" "));
  const BLOCKS = words("address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul");
  const SKIPPED = words("head script style template noscript datalist option optgroup iframe object embed canvas video audio map math");
  const LISTS = words("ul ol menu dir");
  const ROLES = words("link button textbox checkbox radio combobox slider switch tab option menuitem treeitem");
  const OTHER_ROLES = { searchbox: "textbox", spinbutton: "textbox", menuitemcheckbox: "checkbox", menuitemradio: "radio" };
  const NAMED_BY_TEXT = words("link button checkbox radio switch tab option menuitem treeitem clickable");
  const NAMED_BY_CLASS = words("link button clickable option menuitem tab");
  const FIELDS = words("input select textarea");
  const SINGLE = { submit: "button", reset: "button", button: "button", image: "button", checkbox: "checkbox", radio: "radio", range: "slider", file: "file" };
  const MAX_NAME = 100, MAX_OPTIONS = 30, MAX_LINES = 2000, MAX_NODES = 60000, MAX_CLASSES = 50, MAX_TEXT = 2000;

  const tagOf = element => element.localName;
  const attribute = (element, name) => element.getAttribute(name);
  const collapse = text => text.replace(/[ \t\n\r\f\v\u00a0]+/g, " ").replace(/^ | $/g, "");
  const cut = (text, limit = MAX_NAME) => {
    if (text.length <= limit) return text;
    const points = Array.from(text.slice(0, 4 * limit));
    return points.length <= limit ? text : points.slice(0, limit - 1).join("") + "…";
  };

  // ---- keys: the same number for an element as long as the document lives
  const keys = new WeakMap(), elements = new Map();
  let serial = 0;
  const keyOf = element => {
    if (!keys.has(element)) {
      serial += 1;
      keys.set(element, serial);
      elements.set(serial, new WeakRef(element));
    }
    return keys.get(element);
  };
  page.element = key => {
    const held = elements.get(key);
    const element = held && held.deref();
    return element && element.isConnected ? element : null;
  };

  // ---- one walk's own knowledge
  let options = {}, styles, named, delegated, leaf_hosts;
  const styleOf = element => {
    let style = styles.get(element);
    if (!style) styles.set(element, style = getComputedStyle(element));
    return style;
  };

  // ---- visibility
  const isSvg = element => element.namespaceURI === "http://www.w3.org/2000/svg";
  const isShown = element => {
    if (SKIPPED.has(tagOf(element)) && !(options.foreign && ["iframe", "canvas"].includes(tagOf(element)))) return false;
    if (element.hasAttribute("hidden")) return false;
    if (tagOf(element) === "input" && element.type === "hidden") return false;
    const parent = element.parentElement;
    if (parent && isClosed(parent) && element !== summaryOf(parent)) return false;
    return styleOf(element).display !== "none";
  };
  const isClosed = element => tagOf(element) === "details" && !element.open;
  const summaryOf = details => Array.prototype.find.call(details.children, child => tagOf(child) === "summary") || null;
  const isVisible = element => {  // visibility and opacity: a child may differ from its parent
    const style = styleOf(element);
    if (style.visibility !== "visible") return false;
    return !isTransparent(element);
  };
  const transparent = { cache: new WeakMap() };
  const isTransparent = element => {
    if (transparent.cache.has(element)) return transparent.cache.get(element);
    const above = element.parentElement;
    const answer = styleOf(element).opacity === "0" || (above ? isTransparent(above) : false);
    transparent.cache.set(element, answer);
    return answer;
  };
  const isClipped = element => {  // no size, and nothing of it shows outside
    const style = styleOf(element);
    if (style.overflowX === "visible" && style.overflowY === "visible") return false;
    if (style.display === "contents" || style.display === "inline") return false;
    const box = element.getBoundingClientRect();
    return (box.width === 0 && style.overflowX !== "visible") || (box.height === 0 && style.overflowY !== "visible");
  };

  // ---- roles
  const hears = (element, kind) => page_of(element).hears(element, kind);
  const handles = (element, name) => page_of(element).handles(element, name);
  const page_of = element => (element.ownerDocument.defaultView || window).__pixelis || page;
  const delegates = element => page_of(element).delegates.get(element) || [];  // what an ancestor listens for
  const HANDS = words("pointer grab move");
  const isPressed = element => {
    if (["body", "html"].includes(tagOf(element))) return false;
    if (tagOf(element) === "label" && element.control) return false;
    if (isSvg(element) && (isTextPart(element) || !hasSize(element))) return false;
    if (styleOf(element).pointerEvents === "none" && !element.hasAttribute("tabindex")) return false;
    if (hears(element, "press") || ["onclick", "onmousedown", "onmouseup"].some(name => handles(element, name))) return true;
    if (element.hasAttribute("tabindex") && element.tabIndex >= 0) return true;
    if (delegated.some(([host, selector]) => host !== element && host.contains(element) && matches(element, selector))) return true;
    if (isPart(element)) return false;
    const parent = element.parentElement;
    if (element.draggable && attribute(element, "draggable") === "true") return true;
    const cursor = styleOf(element).cursor;
    return HANDS.has(cursor) && !(parent && styleOf(parent).cursor === cursor);
  };
  const matches = (element, selector) => {
    try { return element.matches(selector); } catch { return false; }
  };
  const isLeaf = element => {
    const tag = tagOf(element);
    if (tag === "canvas") return options.drawings || options.leaves;
    if ((element.firstElementChild && !(tag === "text" && isSvg(element))) || NO_LEAVES.has(tag)) return false;
    if (isSvg(element) && (["svg", "g"].includes(tag) || isTextPart(element))) return false;
    if (tag === "label" && element.control) return false;
    const isAsked = options.leaves || (options.drawings && isPainted(element)) || leaf_hosts.some(host => host !== element && host.contains(element));
    return isAsked && !isPart(element) && (options.leaves || !isIcon(element)) && hasSize(element);
  };
  const NO_LEAVES = words("br hr defs body html");
  const ICON = 32;  // pixels: a drawing this small within a control is its icon
  const hasSize = element => {
    const box = element.getBoundingClientRect();
    return isSvg(element) ? Math.max(box.width, box.height) >= 2 : box.width > 0 && box.height > 0;
  };
  const isTextPart = element => ["tspan", "textPath"].includes(tagOf(element));
  const isIcon = element => {  // or a dot that plots a curve
    if (!isSvg(element)) return styleOf(element).pointerEvents === "none";
    const dot = element.getBoundingClientRect();
    if (dot.width < 3 && dot.height < 3) return true;
    const drawing = element.ownerSVGElement, box = drawing && drawing.getBoundingClientRect();
    return Boolean(box) && box.width <= ICON && box.height <= ICON && Boolean(controlAround(drawing));
  };
  const controlAround = element => {
    for (let one = element.parentElement; one; one = one.parentElement) if (role(one)) return one;
    return null;
  };
  const isPart = element => element.parentElement && element.parentElement.closest("button, a[href], select, [role=button], [role=link], [role=menuitem], [role=tab]");
  const isSwatch = element => !isSvg(element) && !element.firstElementChild && styleOf(element).pointerEvents === "none" && tagOf(element) !== "img" && isPainted(element) && hasSize(element);
  const isPainted = element => {
    if (isSvg(element)) return true;
    const style = styleOf(element);
    return !element.textContent.trim() && !/^rgba?\(0, 0, 0(, 0)?\)$/.test(style.backgroundColor) && tagOf(element) !== "canvas";
  };
  const roleOf = element => {
    const tag = tagOf(element);
    const declared = (attribute(element, "role") || "").trim().split(/\s+/)[0].toLowerCase();
    if (ROLES.has(declared)) return declared;
    if (OTHER_ROLES[declared]) return OTHER_ROLES[declared];
    if (declared === "listbox" && tag === "select") return "listbox";
    if ((tag === "a" || tag === "area") && element.hasAttribute("href")) return "link";
    if (tag === "button") return "button";
    if (tag === "summary" && element.parentElement && tagOf(element.parentElement) === "details" && summaryOf(element.parentElement) === element) return "button";
    if (tag === "input") return SINGLE[element.type] || "textbox";
    if (tag === "textarea") return "textbox";
    if (tag === "select") return element.multiple || element.size > 1 ? "listbox" : "combobox";
    if (!options.foreign) return null;
    if (["", "true", "plaintext-only"].includes(attribute(element, "contenteditable"))) return "textbox";
    return isPressed(element) || isLeaf(element) ? "clickable" : null;
  };
  const roles = { cache: new WeakMap() };
  const role = element => {
    if (!roles.cache.has(element)) roles.cache.set(element, roleOf(element));
    return roles.cache.get(element);
  };
  const isControl = element => {
    if (!role(element)) return false;
    if (!options.foreign) return true;
    if (role(element) === "clickable" && isFilled(element)) return false;
    if (styleOf(element).visibility !== "visible") return false;
    return !isTransparent(element) || (FIELDS.has(tagOf(element)) && styleOf(element).pointerEvents !== "none");
  };
  const isFilled = element => {  // a wrapper without a name of its own that the controls inside fill: they are pressed, not it
    if (filled.cache.has(element)) return filled.cache.get(element);
    let area = 0;
    const add = inside => {
      for (const child of inside.children) {
        if (!isShown(child)) continue;
        if (!isControl(child)) { add(child); continue; }
        const box = child.getBoundingClientRect();
        area += box.width * box.height;
      }
    };
    filled.cache.set(element, false);
    if (element.firstElementChild && !isSvg(element)) add(element);
    const box = element.getBoundingClientRect();
    const answer = area > 0 && area >= .9 * box.width * box.height && !ownName(element);
    filled.cache.set(element, answer);
    return answer;
  };
  const filled = { cache: new WeakMap() };
  const ownName = element => attribute(element, "aria-label") || attribute(element, "title") || textOf(element, false, true);
  const below = element => {  // children as they are drawn: open shadow roots, frames of the same origin
    if (options.foreign && element.shadowRoot) return element.shadowRoot.childNodes;
    if (options.foreign && tagOf(element) === "slot") {
      const given = element.assignedNodes();
      if (given.length) return given;
    }
    if (options.foreign && tagOf(element) === "iframe") {
      let inner = null;
      try { inner = element.contentDocument; } catch { return []; }
      return inner && inner.body ? [inner.body] : [];
    }
    return element.childNodes;
  };
  const holdsControl = element => {
    for (const child of below(element))
      if (child.nodeType === 1 && isShown(child) && (isControl(child) || holdsControl(child))) return true;
    return false;
  };

  // ---- names
  const imageText = element => {
    const tag = tagOf(element);
    if (tag === "img") return attribute(element, "alt") || attribute(element, "aria-label") || "";
    if (tag !== "svg") return null;
    const title = Array.prototype.find.call(element.children, child => tagOf(child) === "title");
    return attribute(element, "aria-label") || (title ? title.textContent : "");
  };
  const textOf = (element, evenHidden = false, own = false) => {  // own: without what the controls inside say
    let text = "", left = 4000;  // a name keeps 100 code points
    const visit = node => {
      if (left <= 0) return;
      if (node.nodeType === 3) { text += node.data; left -= node.data.length; }
      if (node.nodeType !== 1) return;
      const tag = tagOf(node);
      if (!isShown(node) || attribute(node, "aria-hidden") === "true") return;
      if (options.foreign && !evenHidden && !isVisible(node) && !holdsVisible(node)) return;
      if (FIELDS.has(tag) || tag === "button" || (own && isControl(node))) return;
      inside(node);
    };
    const inside = node => {
      const alternative = imageText(node);
      if (alternative !== null && !(options.foreign && tagOf(node) === "svg" && !alternative)) { text += ` ${cut(collapse(alternative))} `; return; }
      const block = BLOCKS.has(tagOf(node));
      if (block) text += " ";
      const closed = isClosed(node);
      for (const child of below(node)) if (!closed || child.nodeType === 1) visit(child);
      if (block) text += " ";
    };
    inside(element);
    return collapse(text);
  };
  const holdsVisible = element => styleOf(element).visibility !== "visible" && Array.prototype.some.call(element.querySelectorAll("*"), one => isVisible(one));
  const labelled = element => {
    const target = attribute(element, "for") !== null
      ? element.ownerDocument.getElementById(attribute(element, "for"))
      : Array.prototype.find.call(element.querySelectorAll("input, select, textarea, button"), one => !(tagOf(one) === "input" && one.type === "hidden"));
    return target || null;
  };
  const labelsOf = element => {  // once a walk: what each label names
    const owner = element.ownerDocument;
    if (!named.has(owner)) {
      const table = new Map();
      for (const label of owner.querySelectorAll("label")) {
        const target = labelled(label);
        if (target) table.set(target, [...(table.get(target) || []), label]);
      }
      named.set(owner, table);
    }
    return named.get(owner).get(element) || [];
  };
  const ways = {
    labelledby: element => (attribute(element, "aria-labelledby") || "").split(/\s+/).filter(Boolean)
      .map(id => element.ownerDocument.getElementById(id)).filter(Boolean).map(one => textOf(one, true)).join(" "),
    value: element => {
      if (tagOf(element) !== "input" || !["submit", "reset", "button", "image"].includes(element.type)) return "";
      if (element.type === "image") return attribute(element, "alt") || "Submit";
      const value = attribute(element, "value");
      return value !== null && value !== "" ? value : { submit: "Submit", reset: "Reset", button: "" }[element.type];
    },
    labels: element => FIELDS.has(tagOf(element)) ? labelsOf(element).map(one => textOf(one)).join(" ") : "",
    text: (element, kind) => NAMED_BY_TEXT.has(kind) && !FIELDS.has(tagOf(element)) ? textOf(element, false, kind === "clickable") : "",
    classes: (element, kind) => NAMED_BY_CLASS.has(kind) ? classWords(element) : "",
  };
  const classWords = element => [...new Set((attribute(element, "class") || "").replace(/[-_]/g, " ").split(/\s+/))].join(" ");
  const wholeWords = text => text.length <= MAX_CLASSES ? text : text.slice(0, text.lastIndexOf(" ", MAX_CLASSES) > 0 ? text.lastIndexOf(" ", MAX_CLASSES) : MAX_CLASSES);
  const nameOf = (element, kind) => {
    for (const way of [ways.labelledby, one => attribute(one, "aria-label") || "", ways.value, ways.labels, ways.text,
      one => attribute(one, "title") || "", one => attribute(one, "placeholder") || ""]) {
      const name = collapse(way(element, kind));
      if (name) return cut(options.foreign ? page.looks.added(name, element, styleOf) : name);
    }
    const classes = collapse(ways.classes(element, kind));
    return cut(options.foreign ? page.looks.name(element, wholeWords(classes), styleOf) : classes);
  };

  // ---- values, states, options
  const optionLabel = option => cut(collapse(attribute(option, "label") || option.textContent));
  const valueOf = (element, kind) => {
    const tag = tagOf(element);
    if (tag === "select") return cut(Array.from(element.selectedOptions, optionLabel).join(", ")) || null;
    if (kind === "slider") {
      if (tag === "input") return cut(element.value) || null;
      return cut(collapse(attribute(element, "aria-valuetext") || attribute(element, "aria-valuenow") || "")) || null;
    }
    if (kind !== "textbox" && kind !== "combobox") return null;
    if (tag === "input" && element.type === "password") return cut("•".repeat(Array.from(element.value).length)) || null;
    if (tag === "textarea" && options.foreign) return cut(collapse(element.value), MAX_TEXT) || null;
    if (tag === "input" || tag === "textarea") return cut(collapse(element.value)) || null;
    return element.isContentEditable ? cut(collapse(element.innerText), MAX_TEXT) || null : null;
  };
  const isDisabled = element => {
    if (attribute(element, "aria-disabled") === "true") return true;
    if (!("disabled" in element) || !["input", "select", "textarea", "button"].includes(tagOf(element))) return false;
    return element.matches(":disabled");
  };
  const statesOf = (element, kind) => {
    const tag = tagOf(element), states = [], says = (name, value) => attribute(element, name) === value;
    const native = tag === "input" && ["checkbox", "radio"].includes(element.type);
    if (["checkbox", "radio", "switch"].includes(kind) && (native ? element.checked : says("aria-checked", "true"))) states.push("checked");
    if (says("aria-selected", "true")) states.push("selected");
    if (isDisabled(element)) states.push("disabled");
    if ((tag === "input" || tag === "textarea") && element.hasAttribute("readonly")) states.push("readonly");
    if ((FIELDS.has(tag) && element.hasAttribute("required")) || says("aria-required", "true")) states.push("required");
    const open = tag === "summary" && kind === "button" && element.parentElement && tagOf(element.parentElement) === "details" ? String(element.parentElement.open) : attribute(element, "aria-expanded");
    if (open === "true") states.push("expanded");
    if (open === "false") states.push("collapsed");
    if (says("aria-invalid", "true")) states.push("invalid");
    return states;
  };
  const optionsOf = element => {
    if (tagOf(element) !== "select") return [];
    const labels = Array.from(element.options).filter(one => !one.hasAttribute("hidden")).map(optionLabel);
    return labels.length <= MAX_OPTIONS ? labels : [...labels.slice(0, MAX_OPTIONS), `… ${labels.length - MAX_OPTIONS} more`];
  };
  const describe = element => {
    const kind = role(element);
    return [keyOf(element), kind, nameOf(element, kind), valueOf(element, kind), statesOf(element, kind), optionsOf(element)];
  };
  page.nameOf = element => { begin(); const kind = role(element) || "clickable"; return [kind, nameOf(element, kind)]; };
  page.isDisabled = isDisabled;
  page.optionLabel = optionLabel;
  page.collapse = collapse;

  // ---- the walk
  const begin = () => {
    options = page.settings;
    page.ask();
    styles = new Map();
    named = new Map();
    delegated = [];
    leaf_hosts = [];
    roles.cache = new WeakMap();
    filled.cache = new WeakMap();
    transparent.cache = new WeakMap();
    if (!options.foreign) return;
    for (const element of document.querySelectorAll("*")) {
      if (delegated.length > 200) break;
      for (const selector of delegates(element)) delegated.push([element, selector]);
      if ((hears(element, "press") || handles(element, "onclick")) && ![document.body, document.documentElement].includes(element) && !delegates(element).length && !isItem(element) && element.querySelectorAll(":not(:has(*))").length >= 3) leaf_hosts.push(element);
    }
  };
  const isItem = element => {  // one of several alike that each have a listener: it hears for itself
    const alike = other => other !== element && tagOf(other) === tagOf(element) && other.className === element.className && (hears(other, "press") || handles(other, "onclick"));
    return Boolean(element.className) && Array.prototype.some.call(element.ownerDocument.getElementsByClassName(element.className), alike);
  };
  page.isWrapper = element => Boolean(page.settings.foreign) && role(element) === "clickable" && holdsControl(element);
  page.innerControl = (node, element) => {  // the control between them, if there is one
    for (let one = node; one && one !== element; one = one.parentElement) if (one.nodeType === 1 && isControl(one)) return one;
    return null;
  };
  page.snapshot = () => {
    begin();
    const lines = [];
    let pieces = [], pending = "", nodes = 0, full = false;
    const text = () => {
      const collapsed = collapse(pending);
      pending = "";
      if (collapsed) pieces.push(collapsed);
    };
    const endLine = place => {
      text();
      if (pieces.length) lines.push([place.kind, place.level, pieces]);
      pieces = [];
      if (lines.length >= MAX_LINES) full = true;
    };
    const placeOf = (element, place) => {
      const tag = tagOf(element);
      if (place.row) return place;
      if (/^h[1-6]$/.test(tag)) return { ...place, kind: "heading", level: Number(tag[1]) };
      if (LISTS.has(tag)) return { ...place, depth: place.depth + 1 };
      if (tag === "li") return { ...place, kind: "item", level: place.depth };
      if (tag === "tr") return { ...place, kind: "row", level: 0, row: !element.querySelector("table") };
      return place;
    };
    const walk = (node, place) => {
      nodes += 1;
      if (nodes > MAX_NODES) full = true;
      if (full) return;
      if (node.nodeType === 3) {
        if (!place.mute && !(node.parentElement && isClosed(node.parentElement)) && (!options.foreign || !node.parentElement || isVisible(node.parentElement))) pending += node.data;
        return;
      }
      if (node.nodeType !== 1 || !isShown(node)) return;
      if (options.foreign && isClipped(node)) return;
      element(node, place);
    };
    const element = (node, place) => {
      const tag = tagOf(node), ends = BLOCKS.has(tag);
      const boundary = () => { if (ends) { if (place.row) pending += " "; else endLine(place); } };
      boundary();
      if ((tag === "td" || tag === "th") && place.row && node.parentElement === place.rowElement && previousCell(node)) pending += " | ";
      const image = options.foreign ? null : imageText(node);
      if (image && !(attribute(node, "aria-hidden") === "true" || place.mute) && isControl(node)) pending += ` image "${cut(collapse(image))}" `;
      let inner = placeOf(node, place);
      if (inner.row && !place.row) inner = { ...inner, rowElement: node };
      if (attribute(node, "aria-hidden") === "true") inner = { ...inner, mute: true };
      if (tag === "label") {
        const target = labelled(node);
        if (target && isControlHere(target) && !target.hasAttribute("aria-labelledby") && !target.hasAttribute("aria-label")) inner = { ...inner, mute: true };
      }
      const close = () => { if (ends) { if (place.row) pending += " "; else endLine(inner); } };
      const stands = options.foreign && tag === "label" && standsFor(node);
      if (stands) { text(); pieces.push(describe(stands)); return close(); }
      if (isControl(node)) {
        text();
        const said = describe(node);
        pieces.push(said);
        const icon = options.drawings && said[1] === "menuitem" ? iconOf(node) : "";
        if (icon) pending += ` image "${icon}" `;
        if (!holdsControl(node)) return close();
        if (said[1] === "clickable" && said[2] && textOf(node, false, true) === said[2]) inner = { ...inner, mute: true };  // its name says it
      } else if (options.drawings && isIconPicture(node) && !role(node)) {
        pending += ` image "${cut(wholeWords(classWords(node)))}" `;
        return close();
      } else if (options.drawings && isSwatch(node)) {
        pending += ` image "${nameOf(node, "clickable")}" `;
        return close();
      } else {
        const alternative = imageText(node);
        if (alternative !== null) {
          const name = cut(collapse(alternative));
          if (name && !inner.mute) pending += ` image "${name}" `;
          if (name || !options.foreign || tag === "img") return close();
        }
      }
      for (const child of below(node)) walk(child, inner);
      close();
    };
    const previousCell = cell => {
      for (let one = cell.previousElementSibling; one; one = one.previousElementSibling) if (["td", "th"].includes(tagOf(one))) return true;
      return false;
    };
    const isIconPicture = one => !one.textContent.trim() && hasSize(one) && styleOf(one).backgroundImage !== "none" && classWords(one).includes("icon");
    const iconOf = control => {  // a picture beside the words of an entry, by the words of its class
      const found = Array.prototype.find.call(control.querySelectorAll("*"), isIconPicture);
      return found ? cut(wholeWords(classWords(found))) : "";
    };
    const standsFor = label => {  // a box or radio button that is not drawn: its label is, and takes the mouse
      const field = labelled(label);
      if (!field || tagOf(field) !== "input" || !["checkbox", "radio"].includes(field.type)) return null;
      if (field.ownerDocument !== label.ownerDocument || labelsOf(field)[0] !== label || field.hasAttribute("hidden")) return null;
      const box = field.getBoundingClientRect();
      return box.width * box.height === 0 || styleOf(field).visibility !== "visible" || !isShown(field) ? field : null;
    };
    const isControlHere = target => {
      for (let one = target; one && one.nodeType === 1; one = one.parentElement) if (!isShown(one)) return false;
      return isControl(target);
    };
    const outside = { kind: "text", level: 0, depth: 0, row: false, rowElement: null, mute: false };
    if (document.body) walk(document.body, outside);
    endLine(outside);
    if (full) lines.push(["text", 0, ["… the page is longer than can be shown"]]);
    const said = page.said.splice(0);
    return { url: location.href, title: cut(collapse(document.title)), lines, document: page.document, said };
  };
})();
