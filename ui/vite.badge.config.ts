import { defineConfig } from 'vite';

// The badge: one classic script. tools/pack.mjs names it after its content.
export default defineConfig({
  publicDir: false,
  build: {
    outDir: '../build/ui/badge',
    emptyOutDir: true,
    target: 'es2020',
    lib: {
      entry: 'badge/badge.ts',
      formats: ['iife'],
      name: 'flamegateBadge',
      fileName: () => 'badge.js',
    },
  },
});
