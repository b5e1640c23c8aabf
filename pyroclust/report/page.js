"use strict";
(() => {
  const folds = [...document.querySelectorAll("details")];
  const setAll = (isOpen) => folds.forEach((fold) => { fold.open = isOpen; });
  document.getElementById("open-all").addEventListener("click", () => setAll(true));
  document.getElementById("close-all").addEventListener("click", () => setAll(false));
  document.querySelector(".folding").hidden = false;

  // A link to a folded section unfolds it, again too when the address stays the same.
  const reveal = (hash) => {
    const target = document.getElementById(decodeURIComponent(hash.slice(1)));
    const fold = target && target.closest("details");
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) reveal(link.hash);
  });
  window.addEventListener("hashchange", () => reveal(location.hash));
  reveal(location.hash);

  // Paper cannot be unfolded.
  let folded = [];
  window.addEventListener("beforeprint", () => { folded = folds.filter((fold) => !fold.open); setAll(true); });
  window.addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));
})();
