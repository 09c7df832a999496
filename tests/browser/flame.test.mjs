// The flame views: drawn, searched, zoomed, walked by keyboard.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startBrowser } from './browser.mjs';
import { startFixture } from './fixture.mjs';
import { canvasColours, openPage } from './pages.mjs';

let browser;
let fixture;
let id;
before(async () => {
  fixture = await startFixture();
  id = fixture.state.story.main.id;
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await fixture?.stop();
});

async function open(path, options) {
  const opened = await openPage(browser, `${fixture.console}/p/${path}`, options);
  const canvas = opened.page.locator('canvas.flame');
  await canvas.waitFor();
  await opened.page.locator('.legend').waitFor();
  await settle(opened.page);
  return { ...opened, canvas };
}

// Two frames of the screen: what was asked for is drawn.
const settle = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
const detail = (page) => page.locator('.detail').innerText();
const param = (page, name) => new URL(page.url()).searchParams.get(name);

describe('drawing', () => {
  for (const view of ['time', 'left']) {
    for (const colorScheme of ['light', 'dark']) {
      it(`fills the canvas of ${view} in ${colorScheme}`, async () => {
        const { page, close } = await open(`${id}?v=${view}`, { colorScheme });
        const { colours, drawn } = await canvasColours(page, 'canvas.flame');
        assert.ok(colours > 20, `${colours} colours`);
        assert.ok(drawn > 0.4, `${drawn} drawn`);
        await close();
      });
    }
  }

  it('repaints when the theme changes', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`, {
      colorScheme: 'light',
    });
    const pixel = () =>
      canvas.evaluate((at) => [...at.getContext('2d').getImageData(at.width - 20, 24, 1, 1).data]);
    const before = await pixel();
    await page.emulateMedia({ colorScheme: 'dark' });
    await settle(page);
    assert.notDeepEqual(await pixel(), before);
    await close();
  });

  it('keeps the canvas to its viewport and its density', async () => {
    const { page, canvas, close } = await open(`${fixture.bigId}?v=left`);
    const size = await canvas.evaluate((at) => ({
      rows: at.height,
      shown: at.clientHeight * devicePixelRatio,
      inner: innerHeight,
    }));
    assert.equal(size.rows, Math.round(size.shown));
    assert.ok(size.rows <= size.inner);
    await close();
  });

  it('draws 100,000 frames with a few thousand rectangles, however it is zoomed', async () => {
    const { page, canvas, close } = await open(`${fixture.bigId}?v=left`);
    const { drawn } = await canvasColours(page, 'canvas.flame');
    assert.ok(drawn > 0.2, `${drawn} drawn`);
    const most = await canvas.evaluate(async (at) => {
      const context = at.getContext('2d');
      const fillRect = context.fillRect.bind(context);
      let rectangles = 0;
      context.fillRect = (...box) => (rectangles++, fillRect(...box));
      let worst = 0;
      for (const key of '++++++++------') {
        rectangles = 0;
        at.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        worst = Math.max(worst, rectangles);
      }
      return worst;
    });
    assert.ok(most > 100 && most < 12_000, `${most} rectangles in a frame`);
    await close();
  });
});

describe('pointer', () => {
  it('hovering fills the detail bar without moving the page', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`);
    await canvas.hover({ position: { x: 300, y: 9 + 18 * 4 } });
    await settle(page);
    assert.match(await detail(page), /klaus\.views\.BaseRepoView\.dispatch_request/);
    assert.match(await detail(page), /362\.4 ms\s*89\.4 %/);
    await close();
  });

  it('a click zooms, Back and Esc and the ancestors undo it', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`);
    await canvas.click({ position: { x: 100, y: 9 + 18 * 6 } });
    await page.waitForURL(/z=/);
    assert.match(await detail(page), /klaus\.repo\.FancyRepo\.commit_diff/);
    assert.equal(param(page, 'z'), '0-189.3');
    assert.match(await page.locator('.trail').innerText(), /dispatch_request[\s\S]*commit_diff/);
    await page.goBack();
    assert.equal(param(page, 'z'), null);
    await canvas.click({ position: { x: 100, y: 9 + 18 * 6 } });
    await page.keyboard.press('Escape');
    assert.equal(param(page, 'z'), null);
    assert.ok(param(page, 'n'), 'the selection stays');
    await page.locator('.trail').getByRole('button', { name: 'dispatch_request' }).last().click();
    await page.waitForURL(/z=0-36/);
    await close();
  });

  it('Ctrl and wheel zoom at the pointer; the plain wheel leaves the page alone', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`);
    await canvas.hover({ position: { x: 200, y: 40 } });
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -400);
    await page.keyboard.up('Control');
    await page.waitForURL(/z=/);
    const [from, to] = param(page, 'z').split('-').map(Number);
    assert.ok(from > 0 && to < 405.5 && to - from < 300, `${from} to ${to}`);
    await close();
  });

  it('dragging pans', async () => {
    const { page, canvas, close } = await open(`${id}?v=left&z=100-200`);
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 400, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 50, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => new URLSearchParams(location.search).get('z') !== '100-200');
    const [from, to] = param(page, 'z').split('-').map(Number);
    assert.ok(from > 105 && Math.abs(to - from - 100) < 0.01, `${from} to ${to}`);
    await close();
  });
});

describe('search', () => {
  it('says what the matches cost together, underlines them, and is in the address', async () => {
    const { page, close } = await open(`${id}?v=left`);
    const before = await canvasColours(page, 'canvas.flame');
    await page.keyboard.press('/');
    await page.keyboard.type('Tree._deserialize');
    await page.waitForURL(/q=Tree\._deserialize/);
    assert.match(
      await page.locator('.found').innerText(),
      /1 frame: 68\.5 ms total \(16\.9 % of 405\.5 ms\), 7\.2 ms self/,
    );
    await settle(page);
    assert.notDeepEqual(await canvasColours(page, 'canvas.flame'), before);
    await page.getByRole('tab', { name: /Top/ }).click();
    assert.equal(await page.locator('.top tbody tr').count(), 1);
    await page.keyboard.press('Escape');
    assert.equal(param(page, 'q'), null);
    await close();
  });

  it('says when nothing matches', async () => {
    const { page, close } = await open(`${id}?v=left&q=nothing-like-it`);
    await page.getByText('no frame matches').waitFor();
    await close();
  });
});

describe('owners', () => {
  it('stand out alone, and are in the address', async () => {
    const { page, close } = await open(`${id}?v=left`);
    await page.getByRole('button', { name: 'My code' }).click();
    await page.waitForURL(/own=own/);
    assert.match(
      await page.locator('.found').innerText(),
      /frames: 362\.4 ms total \(89\.4 % of 405\.5 ms\), 40\.3 ms self/,
    );
    await close();
  });
});

describe('the sandwich', () => {
  it('shows callers and callees of the chosen function', async () => {
    const { page, close } = await openPage(browser, `${fixture.console}/p/${id}?v=sandwich`);
    await page.locator('.top button', { hasText: 'dulwich.pack.Pack.get_raw' }).click();
    await page.locator('canvas.flame').nth(1).waitFor();
    await settle(page);
    assert.match(await detail(page), /dulwich\.pack\.Pack\.get_raw[\s\S]*total 64\.4 ms/);
    await page
      .locator('canvas.flame')
      .first()
      .hover({ position: { x: 100, y: 9 + 18 } });
    await settle(page);
    assert.match(await detail(page), /PackBasedObjectStore\.get_raw/);
    await page
      .locator('canvas.flame')
      .first()
      .click({ position: { x: 100, y: 9 + 18 } });
    await page.getByRole('heading', { name: /Callees total 47/ }).waitFor();
    await close();
  });
});

describe('keyboard', () => {
  it('walks callers, callees and siblings, speaks, zooms and steps back', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`);
    await canvas.focus();
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
      await settle(page);
    };
    await press('ArrowDown');
    assert.match(await detail(page), /^all/);
    await press('ArrowDown', 'ArrowDown');
    assert.match(await detail(page), /flask\.app\.Flask\.wsgi_app/);
    await press('ArrowRight');
    assert.match(await detail(page), /ClosingIterator\.__next__/);
    assert.match(
      await page.locator('[aria-live="polite"]').last().innerText(),
      /__next__; total 33\.9 ms, 8\.4 %; self 9\.3 ms/,
    );
    await press('ArrowLeft', 'ArrowUp');
    assert.match(await detail(page), /SyncWorker\.handle_request/);
    await press('ArrowDown', 'Enter');
    assert.equal(param(page, 'z'), '0-369.6');
    await press('0');
    assert.equal(param(page, 'z'), null);
    await press('+');
    await page.waitForURL(/z=/);
    await press('Escape', 'Escape');
    assert.equal(page.url().includes('n='), false);
    await close();
  });

  it('changes views by number and keeps the selection', async () => {
    const { page, canvas, close } = await open(`${id}?v=left`);
    await canvas.click({ position: { x: 100, y: 9 + 18 * 6 } });
    await page.keyboard.press('5');
    await page.locator('.calltree').waitFor();
    assert.match(await page.locator('.calltree [aria-selected="true"]').innerText(), /commit_diff/);
    await page.keyboard.press('4');
    assert.match(await page.locator('.top [aria-selected="true"]').innerText(), /commit_diff/);
    await page.keyboard.press('1');
    await page.locator('canvas.flame').waitFor();
    assert.match(await detail(page), /commit_diff[\s\S]*this call/);
    await close();
  });

  it('walks the call tree as a treegrid', async () => {
    const { page, close } = await openPage(browser, `${fixture.console}/p/${id}?v=tree`);
    const row = page.locator('.calltree tr[tabindex="0"]');
    await row.waitFor();
    await row.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.match(await page.evaluate(() => document.activeElement.innerText), /wsgi_app/);
    const level = () =>
      page.evaluate(() => [document.activeElement.ariaLevel, document.activeElement.ariaExpanded]);
    assert.deepEqual(await level(), ['3', 'true']);
    await page.keyboard.press('ArrowLeft');
    assert.deepEqual(await level(), ['3', 'false']);
    await page.keyboard.press('ArrowLeft');
    assert.match(await page.evaluate(() => document.activeElement.innerText), /handle_request/);
    await close();
  });
});

describe('the address', () => {
  it('restores search, selection, zoom, thread and view', async () => {
    const first = await open(`${id}`);
    await first.canvas.click({ position: { x: 600, y: 9 + 18 * 5 } });
    await first.page.waitForURL(/z=/);
    const url = first.page.url();
    const before = await detail(first.page);
    await first.close();
    const again = await openPage(browser, url);
    await again.page.locator('.legend').waitFor();
    await settle(again.page);
    assert.equal(await detail(again.page), before);
    assert.equal(again.page.url(), url);
    await again.close();
  });

  it('aligns the frames with the phases of the request', async () => {
    const { page, close } = await open(id);
    assert.match(
      await page.locator('.axis .ph').getAttribute('aria-label'),
      /first byte 372\.0 ms/,
    );
    const [strip, canvas] = [
      await page.locator('.axis .ph').boundingBox(),
      await page.locator('canvas.flame').boundingBox(),
    ];
    assert.ok(Math.abs(strip.x - canvas.x) < 1 && Math.abs(strip.width - canvas.width) < 1);
    await close();
  });
});
