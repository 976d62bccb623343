'use strict';
// Shows what is new on this page within a second, unless the reader has selected something.
const shown = () => document.querySelector('main');
let last = shown().innerHTML;
setInterval(async () => {
  if (document.hidden || !getSelection().isCollapsed) return;
  try {
    const text = await (await fetch(location.pathname)).text();
    const next = new DOMParser().parseFromString(text, 'text/html').querySelector('main');
    if (next.innerHTML !== last) {
      last = next.innerHTML;
      shown().replaceWith(next);
    }
  } catch {
    // The server is being started again.
  }
}, 1000);
