"use strict";
// Everything that comes from documents is put on the page with textContent or on the canvas.
(() => {
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const find = (id) => document.getElementById(id);
  const drawn = nodes.get({ order: "id" });
  const links = edges.get({ order: "id" });
  const panel = find("panel"), search = find("search"), results = find("results"), tip = find("tip");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const animation = () => (still.matches ? false : { duration: 450, easingFunction: "easeInOutCubic" });
  const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
  const neighbours = drawn.map(() => []);
  for (const link of links) {
    neighbours[link.from].push(link);
    neighbours[link.to].push(link);
  }
  const outside = { title: "In no community", members: data.groups.filter((group) => !data.communities[group]) };
  let theme = {};
  let focus = null; // { members: Set of node ids, strong: Set of node ids, links: [link] }

  // ── small parts ──────────────────────────────────────────────────────────────────────────────
  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  function dot(group) {
    const element = make("span", { className: "dot" });
    element.style.background = data.colours[group];
    return element;
  }
  // The end of a relation is the number of an entity, or the name of one that is not shown.
  const nameOf = (end) => (typeof end === "number" ? data.entities[end].name : end);
  function entityButton(id) {
    if (typeof id !== "number") return make("span", { dir: "auto", textContent: id });
    return make("button", {
      type: "button", className: "link", dir: "auto", textContent: data.entities[id].name,
      onclick: () => showEntity(id, true),
    });
  }
  function quote(sentence, names) {
    const [text, document_] = data.sentences[sentence];
    const block = make("blockquote", { dir: "auto" });
    block.append(...marked(text, names));
    block.append(make("cite", { dir: "auto", textContent: data.documents[document_] }));
    return text ? block : null;
  }
  function marked(text, names) {
    const folded = text.toLowerCase(), parts = [];
    if (folded.length !== text.length) return [text];
    const wanted = names.map((name) => name.toLowerCase()).filter((name) => name.length > 1)
      .sort((a, b) => b.length - a.length);
    let begin = 0, at = 0;
    while (at < text.length) {
      const hit = wanted.find((name) => folded.startsWith(name, at));
      if (hit) {
        if (begin < at) parts.push(text.slice(begin, at));
        parts.push(make("mark", { textContent: text.slice(at, at + hit.length) }));
        begin = at = at + hit.length;
      } else at += 1;
    }
    if (begin < text.length) parts.push(text.slice(begin));
    return parts;
  }
  function show(...children) {
    panel.replaceChildren(...children.filter((child) => child !== null));
    panel.scrollTop = 0;
  }
  const back = () => make("button", {
    type: "button", className: "back", textContent: "← All communities", onclick: () => clear(),
  });

  // ── the side panel ───────────────────────────────────────────────────────────────────────────
  function showOverview() {
    const list = make("ul", { className: "list" });
    const groups = data.communities.map((community, group) => ({ community, group }));
    const several = groups.filter(({ community }) => community.size > 1);
    for (const { community, group } of several) {
      list.append(make("li", {}, make("button", {
        type: "button", className: "row community", onclick: () => showCommunity(group, null, true),
      }, dot(group), make("span", { className: "name", dir: "auto", textContent: community.title }),
      make("span", { className: "meta", textContent: community.size.toLocaleString("en") }))));
    }
    const alone = data.entities.length - several.reduce((sum, one) => sum + one.community.members.length, 0);
    show(
      make("h3", { textContent: several.length ? "Communities" : "Entities" }),
      make("p", { className: "meta", textContent: drawn.length
        ? "Click a community for its report, an entity for what is said of it."
        : "There are no entities to draw yet." }),
      list,
      alone > 0 ? make("p", { className: "meta", textContent: `${count(alone, "entity stands", "entities stand")} in no community.` }) : null,
    );
  }
  function showCommunity(group, part, move) {
    const whole = data.communities[group];
    if (!whole) return clear();
    const community = part === null ? whole : whole.parts[part];
    setFocus(new Set(community.members), new Set(community.members.slice(0, 8)));
    const names = community.members.slice(0, 8).map((id) => data.entities[id].name);
    const said = community.findings.flat();
    const findings = said.map((sentence) => quote(sentence, names));
    const starts = said.slice(0, 2).map((sentence) => data.sentences[sentence][0].slice(0, 80));
    const repeats = starts.length > 0 && starts.every((start) => community.summary.includes(start));
    const parts = part === null ? whole.parts : [];
    show(
      back(),
      make("h2", { dir: "auto", textContent: community.title }),
      make("p", { className: "meta" }, dot(group), ` ${count(community.size, "entity", "entities")}`
        + (community.members.length < community.size ? `, ${community.members.length} shown` : "")
        + (community.rating ? ` · weight ${community.rating.toFixed(1)} of 10` : "")),
      community.summary && !repeats ? make("p", { dir: "auto", textContent: community.summary }) : null,
      findings.length ? make("h3", { textContent: "What the documents say" }) : null,
      ...findings.filter((one) => one !== null).map((one) => make("div", { className: "fact" }, one)),
      parts.length ? make("h3", { textContent: "Parts" }) : null,
      parts.length ? make("ul", { className: "list" }, ...parts.map((one, number) => make("li", {},
        make("button", { type: "button", className: "row", onclick: () => showCommunity(group, number, true) },
          make("span", { className: "name", dir: "auto", textContent: one.title }),
          make("span", { className: "meta", textContent: String(one.size) }))))) : null,
      make("h3", { textContent: "Entities" }),
      make("div", { className: "names" }, ...community.members.slice(0, 60).map((id) => make("button", {
        type: "button", dir: "auto", textContent: data.entities[id].name, onclick: () => showEntity(id, true),
      }))),
    );
    if (move) network.fit({ nodes: community.members, animation: animation(), maxZoomLevel: 1.4 });
  }
  function relationRow(number, self) {
    const [ends, predicate, times, places] = data.relations[number];
    const outward = ends[0] === self;
    const loose = predicate === "occurs with";
    return make("div", { className: "fact" },
      make("span", { className: "way", dir: "auto",
        textContent: loose ? "with " : outward ? `${predicate} → ` : "← " }),
      entityButton(ends[outward ? 1 : 0]),
      !loose && !outward ? make("span", { className: "way", dir: "auto", textContent: ` ${predicate} this` }) : null,
      times > 1 ? make("span", { className: "meta", textContent: `  ${times}×` }) : null,
      ...places.map((sentence) => quote(sentence, ends.map(nameOf))));
  }
  function showEntity(id, move) {
    const entity = data.entities[id], group = data.groups[id], home = data.communities[group];
    setFocus(new Set([id, ...neighbours[id].flatMap((link) => [link.from, link.to])]), new Set([id]), id);
    show(
      back(),
      make("h2", { dir: "auto", textContent: entity.name }),
      make("p", {}, entity.type ? make("span", { className: "chip", textContent: entity.type.toLowerCase() }) : null,
        make("span", { className: "meta", textContent:
          `${count(entity.mentions, "mention", "mentions")} in ${count(entity.documents, "document", "documents")}` })),
      entity.aliases.length ? make("p", { className: "meta", dir: "auto", textContent: `Also: ${entity.aliases.join(" · ")}` }) : null,
      home && home.size > 1 ? make("ul", { className: "list" }, make("li", {}, make("button", {
        type: "button", className: "row", onclick: () => showCommunity(group, null, true),
      }, dot(group), make("span", { className: "name", dir: "auto", textContent: home.title }),
      make("span", { className: "meta", textContent: "community" })))) : null,
      make("h3", { textContent: "What the documents say" }),
      entity.relations.length ? null : make("p", { className: "meta", textContent: "No sentence links it with another entity." }),
      ...entity.relations.map((number) => relationRow(number, id)),
      entity.more ? make("p", { className: "meta", textContent: `and ${count(entity.more, "weaker link", "weaker links")}` }) : null,
    );
    network.selectNodes([id], false);
    if (move) network.focus(id, { scale: Math.max(network.getScale(), 0.85), animation: animation() });
  }
  function showLink(link) {
    const ends = [link.from, link.to];
    setFocus(new Set(ends), new Set(ends), null, [link]);
    const both = data.relations.map((relation, number) => ({ relation, number }))
      .filter(({ relation }) => ends.every((id) => relation[0].includes(id)));
    show(
      back(),
      make("h2", {}, entityButton(link.from), " – ", entityButton(link.to)),
      both.length ? null : make("p", { className: "meta", textContent: "One of many weaker links of both." }),
      ...both.map(({ number, relation }) => relationRow(number, relation[0][0])),
    );
  }
  function clear() {
    focus = null;
    network.unselectAll();
    showOverview();
    network.redraw();
  }
  function setFocus(members, strong, centre = null, only = null) {
    const shown = only || (centre !== null ? neighbours[centre]
      : links.filter((link) => members.has(link.from) && members.has(link.to)));
    focus = { members, strong, links: shown };
    network.unselectAll();
    network.redraw();
  }

  // ── the canvas: territories under the graph, names and the focus over it ─────────────────────
  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "surface", "ink", "soft"]) theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  function territory(context, group) {
    const [x, y, radius] = data.discs[group];
    context.beginPath();
    context.ellipse(x, y, radius * 1.45, radius, 0, 0, 2 * Math.PI);
  }
  function drawTerritories(context) {
    data.discs.forEach((disc, group) => {
      const community = data.communities[group];
      if (!community || community.members.length < 3) return;
      territory(context, group);
      context.fillStyle = context.strokeStyle = data.colours[group];
      context.globalAlpha = 0.07;
      context.fill();
      context.globalAlpha = 0.28;
      context.lineWidth = 1.2 / network.getScale();
      context.stroke();
      context.globalAlpha = 1;
    });
  }
  function fitted(context, title, width) {
    const names = title.split(/(, | and |、|与)/);
    for (let kept = names.length; kept > 0; kept -= 2) {
      const shorter = names.slice(0, kept).join("");
      if (context.measureText(shorter).width <= width) return shorter;
    }
    return "";
  }
  function text(context, string, x, y, colour) {
    context.lineJoin = "round";
    context.strokeStyle = theme.ground;
    context.strokeText(string, x, y);
    context.fillStyle = colour;
    context.fillText(string, x, y);
  }
  function drawTitles(context, taken) {
    const scale = network.getScale();
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.lineWidth = 4 / scale;
    data.discs.forEach(([x, y, radius], group) => {
      const community = data.communities[group] || outside, width = radius * 2.9;
      if (community.members.length < 3 || width * scale < 60) return;
      const size = Math.min(17, 10.5 + width * scale / 90) / scale;
      context.font = `650 ${size}px system-ui, sans-serif`;
      const title = fitted(context, community.title, Math.max(width, 110 / scale));
      const half = context.measureText(title).width / 2, bottom = y - radius - 3 / scale;
      const box = [x - half, bottom - size, x + half, bottom];
      if (title && place(taken, box)) text(context, title, x, bottom, community === outside ? theme.soft : theme.ink);
    });
  }
  function place(taken, box) {
    if (taken.some((one) => one[0] < box[2] && box[0] < one[2] && one[1] < box[3] && box[1] < one[3])) return false;
    taken.push(box);
    return true;
  }
  // Labels are drawn here, heaviest first and only where there is room, so that none covers another.
  function drawLabels(context, ids, taken, { least, strong }) {
    const scale = network.getScale();
    const low = network.DOMtoCanvas({ x: -60, y: -20 });
    const high = network.DOMtoCanvas({ x: innerWidth, y: innerHeight });
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineWidth = 3.5 / scale;
    for (const id of ids) {
      const node = drawn[id];
      if (node.x < low.x || node.x > high.x || node.y < low.y || node.y > high.y) continue;
      const size = Math.min(Math.max((8 + node.size * 0.62) * Math.sqrt(scale), least), 19) / scale;
      if (size * scale < 8.5) continue;
      context.font = `${strong.has(id) ? 650 : 400} ${size}px system-ui, sans-serif`;
      node.wide ??= context.measureText(node.caption).width / size;
      const half = node.wide * size / 2, top = node.y + node.size + 2 / scale;
      if (place(taken, [node.x - half, top, node.x + half, top + size])) {
        text(context, node.caption, node.x, top, theme.ink);
      }
    }
  }
  function drawFocus(context) {
    if (!focus) return;
    const scale = network.getScale();
    const corner = network.DOMtoCanvas({ x: -50, y: -50 });
    const far = network.DOMtoCanvas({ x: innerWidth + 50, y: innerHeight + 50 });
    context.globalAlpha = 0.8;
    context.fillStyle = theme.ground;
    context.fillRect(corner.x, corner.y, far.x - corner.x, far.y - corner.y);
    context.globalAlpha = focus.links.length > 400 ? 0.35 : 0.7;
    for (const link of focus.links) {
      const a = drawn[link.from], b = drawn[link.to];
      context.strokeStyle = link.color.color;
      context.lineWidth = Math.max(link.width, 1 / scale);
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.lineTo(b.x, b.y);
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const id of focus.members) {
      const node = drawn[id];
      context.beginPath();
      context.arc(node.x, node.y, node.size, 0, 2 * Math.PI);
      context.fillStyle = node.color;
      context.fill();
      context.lineWidth = (focus.strong.size === 1 && focus.strong.has(id) ? 3.5 : 1.5) / scale;
      context.strokeStyle = focus.strong.size === 1 && focus.strong.has(id) ? theme.ink : theme.ground;
      context.stroke();
    }
    const order = [...focus.members].sort((a, b) => focus.strong.has(b) - focus.strong.has(a) || a - b);
    drawLabels(context, order, [], { least: 12, strong: focus.strong });
  }
  function groupAt(point) {
    return data.discs.findIndex(([x, y, radius], group) => data.communities[group]
      && data.communities[group].members.length > 2
      && ((point.x - x) / 1.45) ** 2 + (point.y - y) ** 2 < radius ** 2);
  }

  // ── search ───────────────────────────────────────────────────────────────────────────────────
  const fold = (string) => string.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const keys = data.entities.map((entity) => [entity.name, ...entity.aliases].map(fold));
  let active = -1;
  function matches(query) {
    const wanted = fold(query.trim());
    if (!wanted) return [];
    const scored = [];
    keys.forEach((names, id) => {
      const best = Math.min(...names.map((name) => name === wanted ? 0
        : name.startsWith(wanted) ? 1 : name.includes(` ${wanted}`) ? 2 : name.includes(wanted) ? 3 : 9));
      if (best < 9) scored.push([best, id]);
    });
    return scored.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, 12).map(([, id]) => id);
  }
  function listResults() {
    const found = matches(search.value);
    active = found.length ? 0 : -1;
    results.replaceChildren(...found.map((id, place) => make("li", {
      id: `result-${place}`, role: "option", onclick: () => choose(id), onmousedown: (event) => event.preventDefault(),
    }, dot(data.groups[id]), make("span", { dir: "auto", textContent: data.entities[id].name }))));
    results.childNodes.forEach((item, place) => { item.entity = found[place]; });
    if (!found.length) results.append(make("li", { className: "none", textContent: "Nothing of that name is shown." }));
    results.hidden = !search.value.trim();
    markActive();
  }
  function markActive() {
    results.querySelectorAll("[role=option]").forEach((item, place) =>
      item.setAttribute("aria-selected", String(place === active)));
    search.setAttribute("aria-expanded", String(!results.hidden));
    if (active >= 0) search.setAttribute("aria-activedescendant", `result-${active}`);
    else search.removeAttribute("aria-activedescendant");
  }
  function closeResults() {
    results.hidden = true;
    search.setAttribute("aria-expanded", "false");
  }
  function choose(id) {
    closeResults();
    search.value = data.entities[id].name;
    showEntity(id, true);
  }
  search.addEventListener("input", listResults);
  search.addEventListener("blur", closeResults);
  search.addEventListener("focus", () => { search.select(); });
  search.addEventListener("keydown", (event) => {
    const options = results.querySelectorAll("[role=option]");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!options.length) return;
      active = (active + (event.key === "ArrowDown" ? 1 : options.length - 1)) % options.length;
      options[active].scrollIntoView({ block: "nearest" });
      markActive();
      event.preventDefault();
    } else if (event.key === "Enter" && !results.hidden && options[active]) {
      choose(options[active].entity);
    }
  });

  // ── events ───────────────────────────────────────────────────────────────────────────────────
  const zoomBy = (factor) => network.moveTo({ scale: network.getScale() * factor, animation: animation() });
  function fitAll(animated) {
    const large = data.discs.length ? data.discs : [[0, 0, 100]];
    const left = Math.min(...large.map(([x, , r]) => x - r * 1.45)), right = Math.max(...large.map(([x, , r]) => x + r * 1.45));
    const top = Math.min(...large.map(([, y, r]) => y - r)), bottom = Math.max(...large.map(([, y, r]) => y + r));
    const box = find("mynetwork").getBoundingClientRect();
    const scale = Math.min((box.width - 40) / (right - left), (box.height - 76) / (bottom - top), 1.6);
    network.moveTo({
      position: { x: (left + right) / 2, y: (top + bottom) / 2 - 12 / scale }, scale,
      animation: animated ? animation() : false,
    });
  }
  find("zoom-in").onclick = () => zoomBy(1.4);
  find("zoom-out").onclick = () => zoomBy(1 / 1.4);
  find("zoom-fit").onclick = () => fitAll(true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      search.value = "";
      closeResults();
      clear();
    } else if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "/") { search.focus(); event.preventDefault(); }
    else if (event.key === "0") fitAll(true);
    else if (event.key === "+") zoomBy(1.4);
    else if (event.key === "-") zoomBy(1 / 1.4);
  });
  network.on("click", (event) => {
    closeResults();
    if (event.nodes.length) return showEntity(event.nodes[0], false);
    if (event.edges.length) return showLink(links[event.edges[0]]);
    const group = focus ? -1 : groupAt(event.pointer.canvas);
    return group >= 0 ? showCommunity(group, null, false) : clear();
  });
  network.on("hoverNode", (event) => {
    const entity = data.entities[event.node];
    const place = network.canvasToDOM(drawn[event.node]);
    tip.textContent = entity.type ? `${entity.name} · ${entity.type.toLowerCase()}` : entity.name;
    tip.style.left = `${place.x}px`;
    tip.style.top = `${place.y}px`;
    tip.hidden = false;
    find("mynetwork").style.cursor = "pointer";
  });
  const hideTip = () => { tip.hidden = true; find("mynetwork").style.cursor = ""; };
  for (const name of ["blurNode", "dragStart", "zoom"]) network.on(name, hideTip);
  network.on("beforeDrawing", drawTerritories);
  network.on("afterDrawing", (context) => {
    const taken = [];
    drawTitles(context, taken);
    drawLabels(context, drawn.keys(), taken, { least: 0, strong: new Set() });
    drawFocus(context);
    if (!document.documentElement.dataset.drawn) {
      document.documentElement.dataset.drawn = String(drawn.length);
      performance.mark("graph-drawn");
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); network.redraw(); });

  // ── begin ────────────────────────────────────────────────────────────────────────────────────
  const totals = data.totals;
  find("counts").textContent = [
    count(totals.entities, "entity", "entities"), count(totals.relations, "relation", "relations"),
    count(totals.communities, "community", "communities"), count(totals.documents, "document", "documents"),
  ].join(" · ");
  if (totals.shown_entities < totals.entities || totals.shown_links < totals.links) {
    find("note").hidden = false;
    find("note").textContent = `Shown: ${totals.shown_entities.toLocaleString("en")} of `
      + `${count(totals.entities, "entity", "entities")} and ${totals.shown_links.toLocaleString("en")} of `
      + `${count(totals.links, "link", "links")} between them; the lighter ones are left out.`;
  }
  readTheme();
  showOverview();
  fitAll(false);
})();
