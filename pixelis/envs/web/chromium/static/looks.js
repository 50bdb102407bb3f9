// A name for what has no text: its colour and shape, and of drawn shapes where and how large they are.
(() => {
  const page = window.__pixelis;
  if (!page || page.looks) return;
  const NAMED = {
    black: "#000000", white: "#ffffff", gray: "#808080", silver: "#c0c0c0", lightgray: "#d3d3d3", darkgray: "#a9a9a9", red: "#ff0000",
    maroon: "#800000", yellow: "#ffff00", olive: "#808000", lime: "#00ff00", green: "#008000", cyan: "#00ffff", teal: "#008080",
    blue: "#0000ff", navy: "#000080", magenta: "#ff00ff", purple: "#800080", orange: "#ffa500", pink: "#ffc0cb", brown: "#a52a2a",
    gold: "#ffd700", violet: "#ee82ee", indigo: "#4b0082", salmon: "#fa8072", coral: "#ff7f50", khaki: "#f0e68c", tan: "#d2b48c",
    crimson: "#dc143c", turquoise: "#40e0d0", beige: "#f5f5dc", lavender: "#e6e6fa",
  };
  const hexOf = parts => "#" + parts.slice(0, 3).map(one => Math.round(one).toString(16).padStart(2, "0")).join("");
  const partsOf = text => (text.match(/[\d.]+/g) || []).map(Number);
  const BY_HEX = new Map(Object.entries(NAMED).map(([name, hex]) => [hex, name]));
  const HUES = [[15, "red"], [45, "orange"], [70, "yellow"], [165, "green"], [195, "cyan"], [258, "blue"], [290, "purple"], [340, "magenta"], [361, "red"]];
  const colourName = text => {
    const parts = partsOf(text);
    if (parts.length < 3 || parts[3] === 0) return "";
    const hex = hexOf(parts);
    if (BY_HEX.has(hex)) return BY_HEX.get(hex);
    const [red, green, blue] = parts.map(one => one / 255), top = Math.max(red, green, blue), low = Math.min(red, green, blue);
    const light = (top + low) / 2, spread = top - low;
    if (light < .08) return "black";
    if (light > .96) return "white";
    if (spread < .1) return "gray";
    const turn = top === red ? ((green - blue) / spread + 6) % 6 : top === green ? (blue - red) / spread + 2 : (red - green) / spread + 4;
    return HUES.find(([end]) => turn * 60 < end)[1];
  };
  const CORNERS = { 3: "triangle", 4: "quadrilateral", 5: "pentagon", 6: "hexagon", 7: "heptagon", 8: "octagon" };
  const shapeOf = (element, box) => {
    switch (element.localName) {
      case "circle": return "circle";
      case "ellipse": return "ellipse";
      case "rect": return Math.abs(box.width - box.height) < 2 ? "square" : "rectangle";
      case "polygon": {
        const count = (element.getAttribute("points") || "").trim().split(/[\s,]+/).length / 2;
        return CORNERS[count] || `polygon with ${Math.round(count)} corners`;
      }
      default: return element.localName;
    }
  };
  const isDrawn = element => element.namespaceURI === "http://www.w3.org/2000/svg" && !["svg", "g"].includes(element.localName);
  const drawn = (element, style) => {
    const box = element.getBoundingClientRect(), round = Math.round;
    const colour = colourName(style.fill === "none" ? style.stroke : style.fill);
    return [colour, shapeOf(element, box), `${round(box.width)}x${round(box.height)}`,
      `at ${round(box.x + box.width / 2)},${round(box.y + box.height / 2)}`].filter(Boolean).join(" ");
  };
  const FORMS = { date: "YYYY-MM-DD", time: "HH:MM", month: "YYYY-MM", week: "YYYY-Www", "datetime-local": "YYYY-MM-DDTHH:MM", color: "#rrggbb" };
  const isSurface = element => ["svg", "canvas"].includes(element.localName);
  const surface = element => {  // what is drawn on: where and how large it is, so that a point of it can be named
    const box = element.getBoundingClientRect(), round = Math.round, kind = element.localName === "canvas" ? "canvas" : "drawing";
    return box.width <= 32 && box.height <= 32 ? kind : `${kind} ${round(box.width)}x${round(box.height)} at ${round(box.x + box.width / 2)},${round(box.y + box.height / 2)}`;
  };
  const form = element => element.localName === "input" && FORMS[element.type] || "";
  page.looks = {
    // what is added to a name that an element has
    added: (name, element, styleOf) => isDrawn(element) ? `${name} ${drawn(element, styleOf(element))}` : isSurface(element) ? `${name} ${surface(element)}` : form(element) ? `${name} ${form(element)}` : name,
    // a name for an element that has none but the words of its class
    name: (element, classes, styleOf) => {
      if (isDrawn(element)) return drawn(element, styleOf(element));
      if (isSurface(element)) return [element.id, element.id ? "" : classes, surface(element)].filter(Boolean).join(" ");
      const style = styleOf(element), box = element.getBoundingClientRect();
      const image = /url\(["']?[^"')]*?([^/"')]+?)\.\w+["']?\)/.exec(`${style.content} ${style.backgroundImage}`);
      const id = element.id && element.id.length <= 20 && !element.id.startsWith("ui-") ? element.id : "";
      const kind = element.localName === "textarea" && !id ? "text area" : "";
      const words = [kind, id, classes || (id ? "" : image ? image[1] : "")].filter(Boolean).join(" ");
      const plain = !["button", "a", "input", "g", "textarea", "select"].includes(element.localName) && box.width * box.height > 0;
      const shade = plain && !element.firstElementChild ? hexOf(partsOf(style.backgroundColor)) : "";
      const colour = plain ? [colourName(style.backgroundColor), shade.length > 1 && !BY_HEX.has(shade) && colourName(style.backgroundColor) ? shade : ""].filter(Boolean).join(" ") : "";
      return [colour, words || (plain ? `box ${Math.round(box.width)}x${Math.round(box.height)}` : ""), form(element)].filter(Boolean).join(" ");
    },
  };
})();
