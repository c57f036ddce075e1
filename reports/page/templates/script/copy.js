// Buttons that copy the text before them; without a script they stay hidden.
const offerCopy = (button, source) => {
  const label = [...button.childNodes];
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
    setTimeout(() => button.replaceChildren(...label), 2000);
  });
};
const offerCopies = (place) => {
  for (const button of place.querySelectorAll("button.copy")) offerCopy(button, button.previousElementSibling);
};
offerCopies(document);
