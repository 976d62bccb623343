// The one thing that the page does itself: a button that comments on an element.
document.getElementById('comment-numbers').addEventListener('click', () => {
  document.querySelector('collab-threads').compose({elementId: 'numbers'});
});
