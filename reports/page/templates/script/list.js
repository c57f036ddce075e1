// A table of any length that holds only the rows in sight.
const ROW_HEIGHT = 30; // as in the style sheet
const MARGIN_ROWS = 12; // made beyond what is in sight

class List {
  // columns: {name, title, cell(row) -> text or element}; link(row) -> address; sort(name) is asked for by a heading.
  constructor(place, columns, link, sort) {
    Object.assign(this, { columns, link, rows: [], active: 0, current: -1, from: -1, to: -1 });
    this.headings = columns.map(({ name, title }) => {
      const button = element("button", { type: "button" }, title);
      button.addEventListener("click", () => sort(name));
      return element("th", { scope: "col", class: `column-${name}` }, button);
    });
    this.body = element("tbody");
    this.table = element("table", {}, element("thead", {}, element("tr", {}, this.headings)), this.body);
    this.tall = element("div", {}, this.table);
    this.view = element("div", { class: "list", tabindex: 0, role: "group", "aria-label": "Cases found" }, this.tall);
    this.view.addEventListener("scroll", () => this.draw());
    this.view.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(this.view);
    place.append(this.view);
  }

  show(rows, current, order) {
    this.rows = rows;
    this.current = current;
    this.headings.forEach((heading, i) => {
      const { name } = this.columns[i];
      const sorted = order === name ? "ascending" : order === `-${name}` ? "descending" : null;
      if (sorted) heading.setAttribute("aria-sort", sorted);
      else heading.removeAttribute("aria-sort");
    });
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.tall.style.height = `${(rows.length + 1) * ROW_HEIGHT}px`;
    this.from = -1;
    this.active = Math.max(0, rows.indexOf(current));
    if (rows.length) this.reveal(this.active);
    this.draw();
  }

  // Whatever is far away stays where it is; what is just out of sight comes in.
  reveal(index) {
    const top = index * ROW_HEIGHT;
    const room = this.view.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top > this.view.scrollTop + room) this.view.scrollTop = top - room;
  }

  draw() {
    const first = Math.floor(this.view.scrollTop / ROW_HEIGHT);
    const count = Math.ceil((this.view.clientHeight || 10 * ROW_HEIGHT) / ROW_HEIGHT);
    const from = Math.max(0, Math.min(first, this.rows.length - 1) - MARGIN_ROWS);
    const to = Math.min(this.rows.length, first + count + MARGIN_ROWS);
    if (from === this.from && to === this.to) return;
    Object.assign(this, { from, to });
    const hadFocus = this.body.contains(document.activeElement);
    this.table.style.marginTop = `${from * ROW_HEIGHT}px`;
    this.body.replaceChildren(...Array.from({ length: to - from }, (_, i) => this.line(from + i)));
    if (hadFocus) (this.anchor() ?? this.view).focus({ preventScroll: true });
  }

  line(index) {
    const row = this.rows[index];
    const cells = this.columns.map(({ name, cell }, i) => {
      const content = cell(row);
      const tag = i ? "td" : "th";
      return element(
        tag,
        { class: `column-${name}`, scope: i ? undefined : "row", title: typeof content === "string" ? content : undefined },
        i ? content : element("a", { href: this.link(row), tabindex: index === this.active ? 0 : -1, "data-index": index }, content),
      );
    });
    return element("tr", { "aria-rowindex": index + 2, "aria-current": row === this.current ? "true" : undefined }, cells);
  }

  anchor() {
    return this.body.querySelector(`a[data-index="${this.active}"]`);
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW_HEIGHT) - 2);
    const to = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
      Home: 0, End: this.rows.length - 1,
    }[event.key];
    if (to === undefined || !this.rows.length || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.active = Math.min(this.rows.length - 1, Math.max(0, to));
    this.reveal(this.active);
    this.from = -1;
    this.draw();
    this.anchor()?.focus({ preventScroll: true });
  }
}
