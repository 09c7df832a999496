// Pages that remember what went wrong in them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

export async function openPage(
  browser,
  url,
  { colorScheme = 'light', width = 1280, height = 720, allow = [] } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
  });
  // Generous: the machine may have other things to do.
  context.setDefaultTimeout(120_000);
  context.setDefaultNavigationTimeout(120_000);
  await context.addInitScript(() => {
    window.violations = [];
    addEventListener('securitypolicyviolation', (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.stack));
  page.on('console', (message) => {
    if (message.type() === 'error' && !allow.some((form) => form.test(message.text())))
      faults.push(message.text());
  });
  await page.goto(url);
  return {
    page,
    faults,
    async close() {
      const violations = await page.evaluate(() => window.violations);
      await context.close();
      assert.deepEqual(violations, [], 'policy violations');
      assert.deepEqual(faults, [], 'console');
    },
  };
}

// Serious findings of axe. It is evaluated by the driver: no element of the page, no policy in its way.
export async function accessibilityFaults(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ['violations'] }),
  );
  return violations.flatMap(({ id, impact, nodes }) =>
    impact === 'critical' || impact === 'serious'
      ? nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`)
      : [],
  );
}

// How many colours a canvas shows, and how much of it is not its most common colour.
export async function canvasColours(page, selector) {
  return page.locator(selector).evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const most = Math.max(...counts.values());
    return { colours: counts.size, drawn: 1 - most / (data.length / 4) };
  });
}
