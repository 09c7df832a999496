// The badge in somebody else's page, under a policy that allows nothing but its own script.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startBrowser } from './browser.mjs';
import { startFixture } from './fixture.mjs';
import { openPage } from './pages.mjs';
import { makeStory } from './story.mjs';

let browser;
let fixture;
before(async () => {
  fixture = await startFixture();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await fixture?.stop();
});
beforeEach(() =>
  Object.assign(fixture.state, {
    story: makeStory(),
    rights: ['view', 'trigger', 'manage'],
    down: false,
    requests: [],
  }),
);

async function open(path = '/', options) {
  const opened = await openPage(browser, fixture.origin + path, options);
  return { ...opened, pill: opened.page.locator('flamegate-badge .pill') };
}

describe('the badge', () => {
  it('leaves the document as the server sent it', async () => {
    const { page, pill, close } = await open();
    await pill.waitFor();
    const dom = await page.evaluate(() => ({
      body: document.body.innerHTML,
      last: document.documentElement.lastElementChild.localName,
      scripts: document.scripts.length,
    }));
    assert.ok(!dom.body.includes('__flamegate'), dom.body);
    assert.equal(dom.last, 'flamegate-badge');
    assert.equal(dom.scripts, 1);
    await close();
  });

  it('shows total, application and count, and lists the requests with links', async () => {
    const { page, pill, close } = await open();
    await page.locator('flamegate-badge .pill', { hasText: '412.6 ms' }).waitFor();
    await pill.click();
    const panel = page.locator('flamegate-badge section');
    await panel.getByText('/api/refs').waitFor();
    await panel.getByText('24.9').waitFor();
    assert.match(await pill.innerText(), /412\.6 ms\s+app 405\.6 ms\s+4 of \d/);
    const links = await panel.locator('a').evaluateAll((all) => all.map((link) => link.href));
    assert.equal(links[0], `${fixture.console}/p/${fixture.state.story.main.id}`);
    assert.match(await panel.innerText(), /Changed on this request/);
    await close();
  });

  it('closes with Esc and gives the focus back', async () => {
    const { page, pill, close } = await open();
    await pill.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('flamegate-badge section').isVisible(), false);
    assert.equal(
      await page.evaluate(() => document.activeElement.shadowRoot.activeElement.className),
      'pill',
    );
    await close();
  });

  it('starts and stops a session', async () => {
    const { page, pill, close } = await open();
    await pill.click();
    await page.getByRole('button', { name: /Profile this session/ }).click();
    await page.locator('flamegate-badge .pill', { hasText: 'recording' }).waitFor();
    assert.ok(fixture.state.requests.includes(`POST ${fixture.prefix}/api/v1/session`));
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.locator('flamegate-badge .pill', { hasText: '412.6 ms' }).waitFor();
    await close();
  });

  it('says so when there is no right to record', async () => {
    fixture.state.rights = ['view'];
    const { page, pill, close } = await open('/', { allow: [/403/] });
    await pill.click();
    await page.getByRole('button', { name: /Profile this session/ }).click();
    await page.getByText('No right to record.').waitFor();
    await close();
  });

  it('names the reason of a profile that failed', async () => {
    const { page, close } = await open(`/?id=${fixture.state.story.failed.id}`);
    await page.locator('flamegate-badge .pill', { hasText: 'no upload' }).waitFor();
    await close();
  });

  it('is silent about ids that nobody knows and about an API that is away', async () => {
    fixture.state.down = true;
    const { page, pill, close } = await open('/', { allow: [/503/] });
    await pill.waitFor();
    await page.locator('flamegate-badge .pill', { hasText: 'not profiled' }).waitFor();
    await close();
  });

  it('stays out of frames', async () => {
    const { page, pill, close } = await open('/?framed');
    await pill.waitFor();
    const frame = page.frames()[1];
    await frame.waitForLoadState('load');
    await page.waitForTimeout(300);
    assert.equal(await frame.locator('flamegate-badge').count(), 0);
    assert.equal(await frame.locator('script[data-id]').count(), 0);
    await close();
  });

  it('can be switched off by the page, and is not printed', async () => {
    const { page, pill, close } = await open();
    await pill.waitFor();
    await page.emulateMedia({ media: 'print' });
    assert.equal(await pill.isVisible(), false);
    await close();
  });

  it('fits a narrow screen in both themes', async () => {
    for (const colorScheme of ['light', 'dark']) {
      const { page, pill, close } = await open('/', {
        width: 375,
        height: 812,
        colorScheme,
      });
      await pill.click();
      const box = await page.locator('flamegate-badge section').boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 375, `${box.x} to ${box.x + box.width}`);
      await page.screenshot({
        path: `../../build/browser/test-badge-375-${colorScheme}.png`,
      });
      await close();
    }
  });
});
