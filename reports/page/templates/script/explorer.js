// The list of cases, its filters and the case that is open, all as the page's address says.
const FILTERS = [
  ["campaign", "Campaign"], ["change", "Since the baseline"], ["verdict", "Verdict"], ["operator", "Operator"],
  ["level", "Level"], ["rule", "Rule"], ["data_type", "Type"], ["rank", "Dimensions"], ["phase", "Phase"],
  ["expected", "Specification"], ["answered", "Backend"], ["index_type", "Index type"], ["layout", "Layout"],
  ["pattern", "Values"],
];
const DIFFERS = "differs"; // a verdict for all that differ
const MENU_OPTIONS = 200; // of a menu that is made at once
const DETAIL_LETTERS = 3; // from so many on the text of the cases is searched too

class Explorer {
  constructor(cases, section) {
    this.cases = cases;
    this.section = section;
    this.state = new Map();
    this.searches = 0;
    this.differing = new Set(cases.head.differing);
    this.place = section.querySelector("#cases-place");
    this.makeFilters();
    this.found = element("p", { class: "found", role: "status" });
    this.place.append(this.found);
    const several = cases.columns.get("campaign").labels.length > 1;
    const columns = [
      { name: "digest", title: "Case", cell: (row) => cases.digest(row) },
      { name: "verdict", title: "Verdict", cell: (row) => verdictMark(cases.label(row, "verdict")) },
      ...(several ? ["campaign"] : []).concat(["operator", "level", "rule", "data_type", "rank", "phase"]).map((name) => ({
        name, title: FILTERS.find(([filter]) => filter === name)[1], cell: (row) => cases.label(row, name),
      })),
    ];
    const sort = (name) => this.go(new Map(this.state).set("sort", this.state.get("sort") === name ? `-${name}` : name));
    this.list = new List(this.place, columns, (row) => this.addressFor(row), sort);
    this.view = element("article", { id: "case", class: "case", "aria-labelledby": "case-title", hidden: true });
    this.place.append(this.view);
    section.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("hashchange", () => this.follow(true));
    if (readState(CASES)) this.follow(true);
    else this.apply();
  }

  makeFilters() {
    this.selects = new Map();
    const fields = FILTERS.flatMap(([name, title]) => {
      const { labels, codes } = this.cases.columns.get(name);
      if (labels.length < 2) return [];
      const counts = new Uint32Array(labels.length);
      for (const code of codes) counts[code]++;
      const extra = name === "verdict" && labels.some((label) => this.differing.has(label)) ? [element("option", { value: DIFFERS }, "all that differ")] : [];
      const options = () => labels.map((label, i) => element("option", { value: label === "" ? "-" : label }, `${label || "none"} (${counts[i].toLocaleString("en")})`));
      const select = element("select", {}, element("option", { value: "" }, "any"), extra);
      const fill = () => {
        const { value } = select;
        select.replaceChildren(...[...select.options].slice(0, 1 + extra.length), ...options());
        select.value = value;
      };
      if (labels.length <= MENU_OPTIONS) fill();
      else select.addEventListener("focus", fill, { once: true });
      select.addEventListener("change", () => this.go(new Map(this.state).set(name, select.value)));
      this.selects.set(name, select);
      return [element("label", {}, element("span", {}, title), select)];
    });
    this.text = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    this.text.addEventListener("input", () => {
      this.state = new Map(this.state).set("text", this.text.value);
      history.replaceState(null, "", addressOf(CASES, this.state));
      this.apply();
    });
    const clear = element("button", { type: "button" }, "Clear");
    clear.addEventListener("click", () => this.go(new Map()));
    this.place.append(
      element(
        "div",
        { class: "filters", role: "search", "aria-label": "Filter the cases" },
        element("label", { class: "text" }, element("span", {}, "Text"), this.text),
        fields,
        clear,
      ),
    );
  }

  addressFor(row) {
    const state = new Map(this.state).set("case", this.cases.digest(row));
    // Where the digest does not name one row, its campaign and place do.
    const same = this.cases.withDigest(this.cases.digest(row));
    if (same.length > 1) state.set("row", String(same.indexOf(row)));
    else state.delete("row");
    return addressOf(CASES, state);
  }

  go(state) {
    this.isOwn = true;
    const address = addressOf(CASES, state);
    if (address === location.hash) this.follow(false);
    else location.hash = address;
  }

  // Show what the address says; `arrived` by a link, the section comes into sight.
  follow(arrived) {
    const state = readState(CASES);
    const isOwn = this.isOwn;
    this.isOwn = false;
    if (!state) return;
    const opened = state.get("case") ?? "";
    const before = `${this.state.get("case") ?? ""} ${this.state.get("row") ?? ""}`;
    const isNew = opened !== "" && `${opened} ${state.get("row") ?? ""}` !== before;
    this.state = state;
    this.apply();
    if (!isNew && arrived && !isOwn && opened === "") this.section.scrollIntoView({ behavior: "instant" });
    void this.open(isNew);
  }

  // The rows that match, in order.
  apply() {
    for (const [name, select] of this.selects) this.choose(select, this.state.get(name) ?? "");
    if (this.text.value !== (this.state.get("text") ?? "")) this.text.value = this.state.get("text") ?? "";
    const search = ++this.searches;
    const words = (this.state.get("text") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const candidates = this.matching();
    if (!words.length) return this.present(candidates);
    const left = words.map((word) => this.labelled(word));
    this.present(candidates.filter((row) => left.every((matches) => matches(row))), words.some((word) => word.length >= DETAIL_LETTERS));
    if (words.some((word) => word.length >= DETAIL_LETTERS)) void this.searchWhole(search, words, left, candidates);
  }

  // A long menu has few options until it is used.
  choose(select, value) {
    select.value = value;
    if (select.value === value || value === "") return;
    select.append(element("option", { value }, value));
    select.value = value;
  }

  matching() {
    const { cases, state } = this;
    const tests = [];
    for (const [name] of FILTERS) {
      const wanted = state.get(name);
      if (!wanted) continue;
      const { labels, codes } = cases.columns.get(name);
      const allowed = labels.map((label) => (name === "verdict" && wanted === DIFFERS ? this.differing.has(label) : label === (wanted === "-" ? "" : wanted)));
      tests.push((row) => allowed[codes[row]]);
    }
    const rows = [];
    for (let row = 0; row < cases.length; row++) if (tests.every((test) => test(row))) rows.push(row);
    const sort = state.get("sort") ?? "";
    const column = cases.columns.get(sort.replace(/^-/, ""));
    if (column) rows.sort((a, b) => (column.codes[a] - column.codes[b]) * (sort.startsWith("-") ? -1 : 1));
    else if (sort === "digest" || sort === "-digest") {
      const digests = new Map(rows.map((row) => [row, cases.digest(row)]));
      rows.sort((a, b) => (digests.get(a) < digests.get(b) ? -1 : 1) * (sort.startsWith("-") ? -1 : 1));
    }
    return rows;
  }

  // Whether a row's traits or digest have a word.
  labelled(word) {
    const columns = [...this.cases.columns.values()].map(({ labels, codes }) => ({ codes, has: labels.map((label) => label.toLowerCase().includes(word)) }));
    const isDigest = /^[0-9a-f]{4,}$/.test(word);
    return (row) => columns.some(({ codes, has }) => has[codes[row]]) || (isDigest && this.cases.digest(row).startsWith(word.slice(0, this.cases.head.digits)));
  }

  // The same, with the text of the whole cases; rows come in as blocks are read, unless another search has begun.
  async searchWhole(search, words, left, candidates) {
    const { cases } = this;
    const found = [];
    for (const row of candidates) {
      const place = cases.places[row];
      const line = place < 0 ? "" : (await this.lowered(Math.floor(place / cases.head.block)))[place % cases.head.block];
      if (search !== this.searches) return;
      if (words.every((word, i) => left[i](row) || (word.length >= DETAIL_LETTERS && line.includes(word)))) found.push(row);
    }
    this.present(found);
  }

  async lowered(block) {
    this.loweredBlocks ??= new Map();
    if (!this.loweredBlocks.has(block)) {
      const lines = await this.cases.lines(block);
      this.loweredBlocks.set(block, lines.map((line) => line.toLowerCase()));
    }
    return this.loweredBlocks.get(block);
  }

  present(rows, isSearching = false) {
    this.rows = rows;
    const differing = this.cases.columns.get("verdict");
    const isDiffering = differing.labels.map((label) => this.differing.has(label));
    const wrong = rows.reduce((sum, row) => sum + isDiffering[differing.codes[row]], 0);
    this.found.textContent = `${counted(rows.length, "case")}, of which ${wrong.toLocaleString("en")} differ${wrong === 1 ? "s" : ""}${isSearching ? "; searching the text of the cases …" : ""}`;
    this.list.show(rows, this.opened(), this.state.get("sort"));
  }

  // The row that the address opens, or -1.
  opened() {
    const same = this.cases.withDigest(this.state.get("case") ?? "");
    return same[Number(this.state.get("row") ?? 0)] ?? same[0] ?? -1;
  }

  async open(isNew) {
    const digest = this.state.get("case") ?? "";
    const row = this.opened();
    const showing = (this.showing = Symbol());
    if (digest === "") {
      this.view.hidden = true;
      return;
    }
    let content;
    if (row < 0) {
      content = [element("h3", { id: "case-title", tabindex: -1 }, "Case ", element("span", { class: "mono" }, digest)), element("p", {}, "This page does not hold the case; results.sqlite may.")];
    } else {
      content = await caseView(this.cases, row, (other) => this.addressFor(other));
    }
    if (showing !== this.showing) return;
    this.view.replaceChildren(this.moves(row), ...content);
    this.view.hidden = false;
    if (isNew) {
      this.view.scrollIntoView({ block: "start", behavior: "instant" });
      this.view.querySelector("#case-title").focus({ preventScroll: true });
    }
  }

  moves(row) {
    const button = (title, action, disabled) => {
      const made = element("button", { type: "button", disabled }, title);
      made.addEventListener("click", action);
      return made;
    };
    const at = this.rows.indexOf(row);
    return element(
      "div",
      { class: "moves" },
      button("Previous case", () => this.step(-1), at <= 0),
      button("Next case", () => this.step(1), at < 0 || at + 1 >= this.rows.length),
      button("Close", () => this.close(), false),
      element("span", { class: "soft" }, at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${this.rows.length.toLocaleString("en")}`),
    );
  }

  step(by) {
    const row = this.rows[this.rows.indexOf(this.opened()) + by];
    if (row !== undefined) location.hash = this.addressFor(row);
  }

  close() {
    const state = new Map(this.state);
    state.delete("case");
    state.delete("row");
    this.go(state);
    this.list.view.focus();
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && !this.view.hidden) return this.close();
    if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
    if (event.key === "/") this.text.focus();
    else if (event.key === "j" || event.key === "k") this.step(event.key === "j" ? 1 : -1);
    else return;
    event.preventDefault();
  }
}
