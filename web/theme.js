// Light, dark, or as the system has it. Runs before the page is shown.
(() => {
  const KEY = "indexshare.theme";
  const NAMES = ["system", "light", "dark"];
  const read = () => {
    try {
      return NAMES.find((name) => name === localStorage.getItem(KEY)) ?? "system";
    } catch {
      return "system";
    }
  };
  const apply = (name) => {
    document.documentElement.style.colorScheme = name === "system" ? "light dark" : name;
    document.documentElement.dataset.theme = name;
  };
  apply(read());
  window.theme = {
    next() {
      const name = NAMES[(NAMES.indexOf(document.documentElement.dataset.theme) + 1) % NAMES.length];
      apply(name);
      try {
        localStorage.setItem(KEY, name);
      } catch {
        // It holds for as long as the page is open.
      }
    },
  };
})();
