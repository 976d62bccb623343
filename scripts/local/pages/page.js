'use strict';
// What every page does: commands have a button that copies them, and a page that is live shows what is new within a second.

const keyOf = (details) => details.dataset.key;

function addCopyButtons() {
  if (!navigator.clipboard) return; // it is there on localhost and on https alone
  for (const block of document.querySelectorAll('pre[data-copy]:not(.copied-by)')) {
    block.classList.add('copied-by');
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
    const frame = document.createElement('div');
    frame.className = 'copyable';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

// update replaces what the page shows, but for what the reader has opened or closed.
function update(next) {
  const opened = new Map([...document.querySelectorAll('details[data-key][data-touched]')].map((d) => [keyOf(d), d.open]));
  for (const details of next.querySelectorAll('details[data-key]')) {
    if (!opened.has(keyOf(details))) continue;
    details.open = opened.get(keyOf(details));
    details.dataset.touched = '';
  }
  document.querySelector('main').replaceWith(next);
  addCopyButtons();
}

let last = document.querySelector('main').innerHTML;

async function look() {
  const busy = !getSelection().isCollapsed || document.activeElement?.matches('input');
  if (document.hidden || busy) return;
  try {
    const text = await (await fetch(location.pathname + location.search)).text();
    const next = new DOMParser().parseFromString(text, 'text/html').querySelector('main');
    if (next.innerHTML === last) return;
    last = next.innerHTML;
    update(next);
  } catch {
    // The server is being started again.
  }
}

document.addEventListener('click', ({target}) => {
  const details = target.closest('summary')?.parentElement;
  if (details) details.dataset.touched = '';
});

addCopyButtons();
if ('live' in document.body.dataset) setInterval(look, 1000);
