// The console and the badge through the real proxy, in front of a real application.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startBrowser } from './browser.mjs';
import { accessibilityFaults, canvasColours, openPage } from './pages.mjs';
import { missing, startProduct } from './proxy.mjs';

describe('through the proxy', { skip: missing() }, () => {
  let browser;
  let product;
  let profileUrl;
  before(async () => {
    product = await startProduct();
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await product?.stop();
  });

  it('a page that asks for it gets the badge, whose link shows the flame', async () => {
    const { page, close } = await openPage(browser, `${product.origin}/demo/?pp=async-flamegraph`);
    await page.locator('flamegate-badge .pill', { hasText: /\d ms/ }).waitFor();
    await page.locator('flamegate-badge .pill').click();
    const link = page.locator('flamegate-badge a').first();
    await link.waitFor();
    profileUrl = await link.evaluate((at) => at.href);
    assert.ok(profileUrl.startsWith(`${product.console}/p/`), profileUrl);
    await close();
  });

  it('the profile draws in time order and merged, with the code of the application in it', async () => {
    const { page, close } = await openPage(browser, profileUrl);
    await page.locator('.legend').waitFor();
    const { colours, drawn } = await canvasColours(page, 'canvas.flame');
    assert.ok(colours > 5 && drawn > 0.05, `${colours} colours, ${drawn} drawn`);
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.screenshot({ path: '../../build/browser/proxy-profile.png' });
    await page.keyboard.press('2');
    await page.keyboard.press('/');
    await page.keyboard.type('klaus');
    await page.locator('.found', { hasText: /frames?: .* total/ }).waitFor();
    await page.screenshot({ path: '../../build/browser/proxy-left.png' });
    await page.getByRole('heading', { name: 'What the proxy changed' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: /Speedscope/ }).click();
    await page.frameLocator('iframe.speedscope').getByText('Left Heavy').waitFor();
    await close();
  });

  for (const [path, expected] of [
    ['/', 'Newest profiles'],
    ['/profiles', 'showing newest'],
    ['/routes', 'of profiled requests only'],
    ['/hosts', 'Host'],
    ['/status', 'python/'],
  ]) {
    it(`${path} shows itself without a fault`, async () => {
      const { page, close } = await openPage(browser, product.console + path);
      await page.getByText(expected).first().waitFor();
      await page.screenshot({
        path: `../../build/browser/proxy-${path.slice(1) || 'overview'}.png`,
      });
      await close();
    });
  }

  it('every offered download is there', async () => {
    const { page, close } = await openPage(browser, profileUrl);
    await page.locator('.legend').waitFor();
    const links = await page.locator('.drop a').evaluateAll((all) => all.map((at) => at.href));
    for (const link of links) {
      const answer = await page.request.get(link);
      assert.equal(answer.status(), 200, link);
      assert.match(answer.headers()['content-disposition'], /attachment/, link);
    }
    await close();
  });

  it('a recorded session profiles the next page without being asked, until it is stopped', async () => {
    const { page, close } = await openPage(browser, `${product.console}/`);
    await page.getByRole('button', { name: /Record 15 min/ }).click();
    await page.getByText(/recording, 1[45] min/).waitFor();
    const profiled = await page.goto(`${product.origin}/demo/`);
    assert.match(profiled.headers()['profile-id'] ?? '', /^[0-9a-z]{20}$/);
    await page.locator('flamegate-badge .pill', { hasText: 'recording' }).click();
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.getByRole('button', { name: /Profile this session/ }).waitFor();
    const plain = await page.goto(`${product.origin}/demo/`);
    assert.equal(plain.headers()['profile-id'], undefined);
    await close();
  });

  it('a profile can be pinned and deleted', async () => {
    const { page, close } = await openPage(browser, profileUrl, { allow: [/404/] });
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Pinned' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the profile' }).click();
    await page.waitForURL(/\/profiles$/);
    await page.goto(profileUrl);
    await page.getByText('No profile').waitFor();
    await close();
  });
});
