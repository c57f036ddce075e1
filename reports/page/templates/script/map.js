// The map's families, which fold out to their operators: rows of the table of every operator, once they are asked for.
const everyOperator = (map) => {
  const place = map.querySelector(".every-operator");
  const folded = place.querySelector("noscript");
  return folded ? parsed(folded) : place;
};

const rowsOf = (map, operators) => {
  const source = everyOperator(map);
  return operators.map((operator) => {
    const rows = source.querySelector(`tbody[data-operator="${CSS.escape(operator)}"]`).cloneNode(true);
    rows.classList.add("unfolded");
    for (const word of rows.querySelectorAll(".word")) word.classList.add("hidden");
    return rows;
  });
};

for (const name of document.querySelectorAll(".family")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "family";
  button.setAttribute("aria-expanded", "false");
  button.textContent = name.textContent;
  const rows = name.closest("tbody");
  let unfolded = [];
  button.addEventListener("click", () => {
    if (unfolded.length) {
      for (const row of unfolded) row.remove();
      unfolded = [];
    } else {
      unfolded = rowsOf(rows.closest(".mapped"), name.dataset.operators.split(" "));
      rows.after(...unfolded);
    }
    button.setAttribute("aria-expanded", String(unfolded.length > 0));
  });
  name.replaceWith(button);
}
