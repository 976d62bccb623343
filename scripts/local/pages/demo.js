// The things that the page does itself: a button that comments on an element, and threads in the margin with
// ?placement=margin.
const placement = new URLSearchParams(location.search).get('placement');
if (placement) document.querySelector('collab-threads').setAttribute('placement', placement);
document.getElementById('comment-numbers').addEventListener('click', () => {
  document.querySelector('collab-threads').compose({elementId: 'numbers'});
});
