// Takes the README's pictures of a profile's page, in both themes:
//   node deploy/images/take.mjs PROFILE-LINK        as deploy/demo --once or a Profile-Link header says it

import { fileURLToPath } from 'node:url';
import { startBrowser } from '../../tests/browser/browser.mjs';

const [link] = process.argv.slice(2);
if (!link) {
  console.error('usage: node deploy/images/take.mjs PROFILE-LINK');
  process.exit(2);
}
const browser = await startBrowser();
for (const colorScheme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme });
  await page.goto(`${link}?v=left`);
  await page.locator('canvas.flame').waitFor();
  await page.waitForLoadState('networkidle');
  const path = fileURLToPath(new URL(`profile-${colorScheme}.png`, import.meta.url));
  await page.screenshot({ path });
  await page.close();
}
await browser.close();
