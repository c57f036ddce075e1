"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  const source = button.previousElementSibling;
  const label = button.innerHTML;
  button.hidden = false;
  button.addEventListener("click", async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Select and copy";
    setTimeout(() => { button.innerHTML = label; }, 2000);
  });
}
addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details:not([open])")) {
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
