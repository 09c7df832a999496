// The badge in the application's page. A classic script at the end of the document: it takes itself
// out of the page at once, so that nothing that hydrates the document ever sees it, and shows itself
// when the page has loaded and is idle. It hooks nothing and says nothing on the page's console.

import { Requests } from './data';
import { Panel } from './panel';

function start(script: HTMLScriptElement): void {
  const { pv = '', id = '' } = script.dataset;
  // ORIGIN/PREFIX/b/HASH.js
  const prefix = script.src.replace(/\/b\/[^/]*$/, '');
  script.remove();
  if (window.top !== window || !('adoptedStyleSheets' in document)) return;
  if (document.documentElement.dataset.flamegateBadge === 'off') return;
  afterLoad(() => {
    let panel: Panel | null = null;
    const requests = new Requests(prefix, pv, () => panel?.update());
    const entry = requests.add(id, location.pathname);
    requests.observe();
    panel = new Panel(prefix, requests, id);
    panel.mount();
    if (entry) void requests.follow(entry);
  });
}

function afterLoad(run: () => void): void {
  const idle = () =>
    'requestIdleCallback' in window
      ? requestIdleCallback(run, { timeout: 2000 })
      : setTimeout(run, 200);
  const loaded = () => {
    if (document.readyState === 'complete') idle();
    else addEventListener('load', idle, { once: true });
  };
  const page = document as Document & { prerendering?: boolean };
  if (page.prerendering) document.addEventListener('prerenderingchange', loaded, { once: true });
  else loaded();
}

const script = document.currentScript;
if (script instanceof HTMLScriptElement) {
  try {
    start(script);
  } catch {
    // A page without us is better than a page with our error.
  }
}
