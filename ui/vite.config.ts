import { defineConfig } from 'vite';

// The console. Its page holds @PREFIX@ where the proxy writes its path prefix; tools/pack.mjs puts it
// before the addresses of the assets as well.
export default defineConfig({
  root: 'app',
  base: './',
  publicDir: false,
  build: {
    outDir: '../../build/ui/app',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
});
