// The console under its own policy: every screen, both themes, wide and narrow.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startBrowser } from './browser.mjs';
import { startFixture } from './fixture.mjs';
import { accessibilityFaults, openPage } from './pages.mjs';
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
    settleAfter: 2,
  }),
);

const open = (path, options) => openPage(browser, fixture.console + path, options);
const text = (page, selector) => page.locator(selector).allInnerTexts();

describe('every screen', () => {
  const story = makeStory();
  const screens = {
    '/': 'Newest profiles',
    '/profiles': '/repo/commit/:id',
    [`/p/${story.main.id}`]: 'GET /repo/commit/:id',
    [`/p/${story.main.id}?v=left`]: 'sum 405.5 ms',
    [`/p/${story.main.id}?v=sandwich`]: 're.Pattern.match',
    [`/p/${story.main.id}?v=top`]: 're.Pattern.match',
    [`/p/${story.main.id}?v=tree`]: 'flask.app.Flask.wsgi_app',
    [`/p/${story.failed.id}`]: 'The profile did not arrive',
    '/p/mx3dempty00000000000': '0 samples in 3.1 ms',
    '/routes': 'GET /repo/history',
    '/hosts': 'git-2',
    '/status': 'cpython/3.11',
    '/campaigns': 'not available in this version',
    '/nonsense': 'No such page',
  };
  for (const [path, expected] of Object.entries(screens)) {
    it(`${path} shows itself without a fault, wide and narrow, light and dark`, async () => {
      for (const [width, height, colorScheme] of [
        [1280, 720, 'light'],
        [375, 812, 'dark'],
      ]) {
        const { page, close } = await open(path, {
          width,
          height,
          colorScheme,
        });
        await page.getByText(expected).first().waitFor();
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        );
        assert.ok(overflow <= 0, `scrolls sideways by ${overflow} px at ${width}`);
        assert.deepEqual(await accessibilityFaults(page), []);
        const name = path.replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'overview';
        await page.screenshot({
          path: `../../build/browser/test-${name}-${width}-${colorScheme}.png`,
        });
        await close();
      }
    });
  }

  it('has no vertical scroll at 1280x720 before the end of the detail bar', async () => {
    const { page, close } = await open(`/p/${story.main.id}`);
    await page.locator('canvas.flame').waitFor();
    const box = await page.locator('.detail').boundingBox();
    assert.ok(box.y + box.height <= 720, `detail ends at ${box.y + box.height}`);
    await close();
  });
});

describe('the list', () => {
  it('shows rows, how many of how many, and older ones on demand', async () => {
    const { page, close } = await open('/profiles');
    await page.locator('.profiles tbody tr').nth(49).waitFor();
    assert.match(await page.locator('.note-row').innerText(), /showing newest 50 of 48,210/);
    await page.getByRole('button', { name: /Older/ }).click();
    await page.locator('.profiles tbody tr').nth(99).waitFor();
    assert.match(await page.locator('.note-row').innerText(), /showing newest 100 of 48,210/);
    await close();
  });

  it('filters and sorts by the address, and Back undoes it', async () => {
    const { page, close } = await open('/profiles');
    await page.getByLabel('5xx').check();
    await page.waitForURL(/status=5xx/);
    await page.locator('.profiles td.s', { hasText: '200' }).first().waitFor({ state: 'detached' });
    assert.ok((await text(page, '.profiles td.s')).every((status) => status.startsWith('5')));
    await page.getByRole('button', { name: /^Total/ }).click();
    await page.waitForURL(/sort=-duration_ms/);
    await page.waitForFunction(
      () => document.querySelector('.profiles td.d').innerText === '3,004.1',
    );
    await page.goBack();
    await page.goBack();
    await page.locator('.profiles td.s', { hasText: '200' }).first().waitFor();
    await close();
  });

  it('says which filter to drop when nothing matches', async () => {
    const { page, close } = await open('/profiles?status=5xx&min_ms=900000');
    await page.getByText('No profile matches all 2 filters').waitFor();
    await page.getByRole('button', { name: /Drop at least 900000 ms/ }).click();
    await page.locator('.profiles tbody tr').first().waitFor();
    await close();
  });

  it('counts new rows without moving the others, and follows live ones', async () => {
    const { page, close } = await open('/profiles');
    await page.locator('.profiles tbody tr').first().waitFor();
    assert.match(await page.locator('.profiles tbody tr').first().innerText(), /recording/);
    const fresh = {
      ...fixture.state.story.main,
      id: 'mx3dnew0000000000000',
      started_at: '2026-11-30T14:40:00.000Z',
    };
    fixture.state.story.rows.unshift(fresh);
    Object.assign(fixture.state.story.running, {
      state: 'stored',
      duration_ms: 77.7,
      status: 200,
    });
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.match(await page.locator('.profiles tbody tr').first().innerText(), /77\.7/);
    await page.getByRole('button', { name: '1 new' }).click();
    assert.match(await page.locator('.profiles tbody tr').first().innerText(), /mx3dnew/);
    await close();
  });

  it('tells of an API that does not answer, keeps what it has, and recovers', async () => {
    const { page, close } = await open('/profiles', { allow: [/503/] });
    await page.locator('.profiles tbody tr').first().waitFor();
    fixture.state.down = true;
    await page.getByLabel('campaign').check();
    await page.getByRole('alert').getByText('Control does not answer').waitFor();
    assert.ok(await page.locator('.profiles tbody tr').count());
    fixture.state.down = false;
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await close();
  });

  it('explains the first steps when nothing is stored', async () => {
    fixture.state.story.rows.length = 0;
    const { page, close } = await open('/profiles');
    await page.getByText('No profile yet. Three things have to happen:').waitFor();
    await close();
  });
});

describe('a profile', () => {
  it('follows a running one until it can be drawn', async () => {
    const { page, close } = await open(`/p/${fixture.state.story.running.id}`);
    await page.getByText('The request is running').waitFor();
    await page.locator('canvas.flame').waitFor();
    assert.ok(fixture.state.requests.some((line) => line.endsWith('?wait=5s')));
    await close();
  });

  it('says when its id was made if it is not there any more', async () => {
    const { page, close } = await open('/p/mx39luv3spwpkisq0gby', {
      allow: [/404/],
    });
    await page.getByText('Its id says 30 Nov 2026').waitFor();
    await page.getByRole('link', { name: 'Profiles around that time' }).waitFor();
    await close();
  });

  it('has one address, also when opened as a viewer', async () => {
    const { page, close } = await open(`/flamegraph?id=${fixture.state.story.main.id}`);
    await page.locator('canvas.flame').waitFor();
    assert.equal(
      new URL(page.url()).pathname,
      `${fixture.prefix}/p/${fixture.state.story.main.id}`,
    );
    await close();
  });

  it('shows what the proxy changed, and links every download', async () => {
    const { page, close } = await open(`/p/${fixture.state.story.main.id}`);
    await page.getByText('Query: pp=async-flamegraph removed.').waitFor();
    const links = await page.locator('.drop a').evaluateAll((all) => all.map((link) => link.href));
    for (const format of ['pprof', 'speedscope', 'collapsed', 'svg']) {
      assert.ok(
        links.some((link) => link.endsWith(`/download?format=${format}`)),
        format,
      );
    }
    await close();
  });

  it('offers pin and delete to those who may, and asks before it deletes', async () => {
    const { id } = fixture.state.story.main;
    const { page, close } = await open(`/p/${id}`, { allow: [/404/] });
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Pinned' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    assert.ok(!fixture.state.requests.some((line) => line.startsWith('DELETE')));
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the profile' }).click();
    await page.waitForURL(/\/profiles$/);
    assert.ok(fixture.state.requests.includes(`DELETE ${fixture.prefix}/api/v1/profiles/${id}`));
    await close();
  });

  it('offers neither to those who may only look', async () => {
    fixture.state.rights = ['view'];
    const { page, close } = await open(`/p/${fixture.state.story.main.id}`);
    await page.locator('canvas.flame').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
    await close();
  });

  it('opens speedscope in a frame under its own policy', async () => {
    const { page, close } = await open(`/p/${fixture.state.story.main.id}?v=speedscope`);
    const frame = page.frameLocator('iframe.speedscope');
    await frame.getByText('Left Heavy').waitFor();
    await frame.getByText('MainThread').first().waitFor();
    await close();
  });
});

describe('the frame around the screens', () => {
  it('keeps a chosen theme', async () => {
    const { page, close } = await open('/', { colorScheme: 'light' });
    await page.getByText('Newest profiles').waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await ground(), 'rgb(251, 251, 250)');
    await page.keyboard.press('t');
    await page.keyboard.press('t');
    assert.equal(await ground(), 'rgb(17, 19, 21)');
    await page.reload();
    await page.getByText('Newest profiles').waitFor();
    assert.equal(await ground(), 'rgb(17, 19, 21)');
    await close();
  });

  it('goes by keyboard, unless letters are switched off', async () => {
    const { page, close } = await open('/');
    await page.getByText('Newest profiles').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('p');
    await page.locator('.profiles').waitFor();
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.getByLabel('Switch single-letter keys off').check();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    assert.match(page.url(), /\/profiles$/);
    await close();
  });

  it('starts and stops recording the session', async () => {
    const { page, close } = await open('/');
    await page.getByRole('button', { name: 'Record 15 min' }).click();
    await page.getByText(/recording, 1[45] min/).waitFor();
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.getByRole('button', { name: 'Record 15 min' }).waitFor();
    assert.ok(fixture.state.requests.includes(`DELETE ${fixture.prefix}/api/v1/session`));
    await close();
  });
});
