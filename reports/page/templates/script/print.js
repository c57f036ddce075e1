// On paper nothing is folded away.
addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details:not([open])")) {
    unfold(closed);
    closed.open = true;
    closed.dataset.closed = "";
  }
});
addEventListener("afterprint", () => {
  for (const opened of document.querySelectorAll("details[data-closed]")) {
    opened.open = false;
    delete opened.dataset.closed;
  }
});
