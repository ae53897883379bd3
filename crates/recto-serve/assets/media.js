// Images, enlarged: a click on one opens it as large as the screen. Without scripts the
// same link leads to the image itself.

import { $, make } from "./shared.js";

function enlarge(link) {
  const dialog = make("dialog", "lightbox");
  dialog.setAttribute("aria-label", `Image, ${link.dataset.enlarge}`);
  const image = make("img");
  image.src = link.getAttribute("href");
  image.alt = $("img", link)?.alt ?? "";
  const close = make("button", "button small", "Close");
  close.type = "button";
  const line = make("p");
  line.append(make("span", "", link.dataset.enlarge), close);
  dialog.append(image, line);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-enlarge]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  enlarge(link);
});
