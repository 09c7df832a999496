// The console: one page that shows the screen its address names.

import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { startKeys } from './core/keys';
import { place, startRouter } from './core/router';
import { loadStatus } from './core/status';
import { startTheme } from './core/theme';
import { Shell } from './parts/shell';
import { Groups, OneGroup } from './screens/groups';
import { Overview } from './screens/overview';
import { ProfileScreen } from './screens/profile/screen';
import { Profiles } from './screens/profiles/screen';
import { Later, Unknown } from './screens/small';
import { StatusScreen } from './screens/status';
import './styles/tokens.css';
import './styles/base.css';
import './styles/screens.css';

const kTitles: Record<string, string> = {
  overview: 'Overview',
  profiles: 'Profiles',
  groups: 'Routes',
  status: 'Status',
};

function App() {
  const at = place.value;
  useEffect(() => {
    const title = at.screen === 'later' ? at.title : kTitles[at.screen];
    if (at.screen !== 'profile') document.title = title ? `${title} - flamegate` : 'flamegate';
  }, [at]);
  return <Shell>{screenOf(at)}</Shell>;
}

function screenOf(at: typeof place.value) {
  switch (at.screen) {
    case 'overview':
      return <Overview />;
    case 'profiles':
      return <Profiles />;
    case 'profile':
      return <ProfileScreen key={at.id} id={at.id} />;
    case 'groups':
      return <Groups key={at.by} by={at.by} />;
    case 'group':
      return <OneGroup by={at.by} name={at.name} />;
    case 'status':
      return <StatusScreen />;
    case 'later':
      return <Later title={at.title} />;
    case 'unknown':
      return <Unknown path={at.path} />;
  }
}

startTheme();
startRouter();
startKeys();
void loadStatus();
render(<App />, document.getElementById('app')!);
