// Tables that are sorted by a heading: numbers from the largest on, names from the first letter on.
const numberOf = (cell) => Number(cell?.dataset.value ?? cell?.textContent.replaceAll(",", ""));

const sortBy = (table, heading) => {
  const before = heading.getAttribute("aria-sort");
  const isNumber = heading.classList.contains("number");
  const order = before ? (before === "descending" ? "ascending" : "descending") : isNumber ? "descending" : "ascending";
  for (const each of table.tHead.querySelectorAll("[aria-sort]")) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const way = order === "descending" ? -1 : 1;
  const at = Number(heading.dataset.column);
  const key = (row) => {
    const cell = row.cells[at];
    if (!isNumber) return cell.textContent;
    const number = numberOf(cell);
    return Number.isNaN(number) || cell.textContent.trim() === "" ? -1 : number;
  };
  const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => way * (a < b ? -1 : a > b ? 1 : 0));
  table.tBodies[0].append(...rows.map(([, row]) => row));
};

const offerSorting = (place) => {
  for (const table of place.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.querySelectorAll("th[data-column]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sortBy(table, heading));
      heading.append(button);
    }
  }
};
offerSorting(document);
