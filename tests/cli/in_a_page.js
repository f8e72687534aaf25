// What a reader could stumble over in a page, as sentences; run in the page by test_in_chromium.py.
() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  const named = (element) => `${element.tagName} “${(element.textContent || "").trim().slice(0, 40)}”`;
  const shown = (element) => element.getClientRects().length > 0;

  // Nothing but tables scrolls sideways.
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const element of document.body.querySelectorAll(":not(.scroll *):not(svg *)")) {
    if (shown(element) && element.getBoundingClientRect().right > width + 0.5) found.push(`${named(element)} leaves the page`);
  }

  // Text is told from what is behind it.
  const rgb = (text) => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number);
    return { colour: parts.slice(0, 3), opacity: parts.length > 3 ? parts[3] : 1 };
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((each) => {
      const part = each / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backgrounds = new Map();
  const behind = (element) => {
    if (!backgrounds.has(element)) backgrounds.set(element, background(element));
    return backgrounds.get(element);
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { colour, opacity } = rgb(getComputedStyle(at).backgroundColor);
      if (opacity > 0) return colour;
    }
    return rgb(getComputedStyle(document.documentElement).backgroundColor).colour;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || element.closest("title, style")) continue;
    const style = getComputedStyle(element);
    const front = rgb(element.closest("svg") ? style.fill : style.color).colour;
    const [high, low] = [light(front), light(behind(element))].sort((one, other) => other - one);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) found.push(`${named(element)} has a contrast of ${contrast.toFixed(2)}`);
  }

  // Pictures have names, and labels that can be read.
  for (const svg of document.querySelectorAll("svg:not([aria-hidden])")) {
    const name = svg.getAttribute("aria-label");
    if (svg.getAttribute("role") !== "img" || !name) found.push("a picture has no name");
    const frame = svg.getBoundingClientRect();
    const labels = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    labels.forEach(([text, box], index) => {
      const cut = box.left < frame.left - 0.5 || box.right > frame.right + 0.5 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
      if (cut) found.push(`${name}: ${named(text)} is cut`);
      // The wide charts of benchmarks are small on a telephone.
      if (box.height < 9 && svg.matches(".narrow")) found.push(`${name}: ${named(text)} is ${box.height.toFixed(1)} pixels high`);
      for (const [other, next] of labels.slice(index + 1)) {
        const across = Math.min(box.right, next.right) - Math.max(box.left, next.left);
        const down = Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top);
        if (across > 0.5 && down > 2) found.push(`${name}: ${named(text)} overlaps ${named(other)}`);
      }
    });
  }

  // A picture says what its table says, or what is listed below it.
  for (const section of document.querySelectorAll("section")) {
    const rows = new Map();
    for (const line of section.querySelectorAll("tbody tr, table > tr, li")) {
      const cells = [...line.querySelectorAll("td, strong")].map((cell) => cell.textContent);
      const first = line.matches("li") ? line.textContent.replace(cells[0] ?? "", "").trim() : cells[0];
      rows.set(first, cells);
    }
    for (const title of section.querySelectorAll("figure title")) {
      const at = title.textContent.lastIndexOf(": ");
      const value = title.textContent.slice(at + 2).replace(/ calls$| of run time$/, "");
      const name = title.textContent.slice(0, at).replace(/, [CG]PU buffers$/, "").replace(/^rank (?=\d+$)/, "");
      if (!rows.get(name)?.includes(value)) found.push(`“${title.textContent}” is not in the table`);
    }
  }
  return found;
}
