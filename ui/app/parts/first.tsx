// What has to happen before there is a first profile.

export function FirstProfile() {
  return (
    <>
      <div class="empty">
        <h2>No profile yet. Three things have to happen:</h2>
      </div>
      <ol class="steps">
        <li>
          <span>1</span>
          <span>Requests pass through the proxy</span>
        </li>
        <li>
          <span>2</span>
          <span>
            An agent runs in the application: give it <code>FLAMEGATE_SECRET_FILE</code>, load it,
            restart
          </span>
        </li>
        <li>
          <span>3</span>
          <span>
            One request asks for a profile: open any page with <code>?pp=async-flamegraph</code>
          </span>
        </li>
      </ol>
    </>
  );
}
