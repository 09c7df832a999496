// Writes pictures of every screen in both themes to build/browser, for people to look at.
//   node shots.mjs [NAME]

import { startBrowser } from './browser.mjs';
import { startFixture } from './fixture.mjs';

const fixture = await startFixture();
const browser = await startBrowser();
const only = process.argv[2];
const id = fixture.state.story.main.id;
const screens = {
  overview: '/',
  profiles: '/profiles',
  'profiles-none': '/profiles?status=5xx&min_ms=900000',
  profile: `/p/${id}?q=Tree._deserialize`,
  'profile-left': `/p/${id}?v=left`,
  'profile-sandwich': `/p/${id}?v=sandwich`,
  'profile-top': `/p/${id}?v=top`,
  'profile-tree': `/p/${id}?v=tree`,
  'profile-speedscope': `/p/${id}?v=speedscope`,
  'profile-failed': `/p/${fixture.state.story.failed.id}`,
  'profile-empty': `/p/${fixture.emptyId}`,
  'profile-big': `/p/${fixture.bigId}?v=left`,
  gone: '/p/mx39luv3spwpkisq0gby',
  routes: '/routes',
  hosts: '/hosts',
  status: '/status',
  later: '/live',
  badge: '@/',
};
for (const [name, path] of Object.entries(screens)) {
  if (only && name !== only) continue;
  for (const [size, width, height] of [
    ['1280', 1280, 720],
    ['375', 375, 812],
  ]) {
    for (const colorScheme of ['dark', 'light']) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme,
      });
      const page = await context.newPage();
      page.on('console', (message) => console.log(name, message.type(), message.text()));
      page.on('pageerror', (error) => console.log(name, error.stack));
      await page.goto(
        path.startsWith('@') ? fixture.origin + path.slice(1) : fixture.console + path,
      );
      await page.waitForLoadState('networkidle').catch(() => {});
      if (name === 'badge') {
        await page.locator('flamegate-badge .pill').click();
        await page.waitForTimeout(500);
      }
      if (name === 'profile-sandwich')
        await page.locator('.top button', { hasText: 'get_raw' }).first().click();
      if (name === 'profile')
        await page
          .locator('canvas.flame')
          .hover({ position: { x: Math.min(width * 0.25, 240), y: 190 } });
      await page.waitForTimeout(name === 'profile-speedscope' ? 1500 : 200);
      await page.screenshot({
        path: `../../build/browser/${name}-${size}-${colorScheme}.png`,
      });
      await context.close();
    }
  }
}
await browser.close();
await fixture.stop();
