// Runs before anything is drawn, so that no page flashes in the other colours.
{
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // A browser that keeps nothing shows what the system says.
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}
