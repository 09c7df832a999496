// The calls of one request of a git web viewer, and random numbers that are always the same.

// A call: name, owner (a application, l library, r runtime), milliseconds, callees. Leaves may have a
// state other than running.
export const call = (name, owner, ms, ...callees) => ({
  name,
  owner,
  ms,
  callees,
  state: 0,
});
const wait = (name, owner, ms, state) => ({ ...call(name, owner, ms), state });

let seed = 11;
export const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;

function repeat(times, ms, make) {
  const weights = Array.from({ length: times }, () => 0.45 + random());
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight, i) => make((ms * weight) / sum, i));
}

const raw = (ms) =>
  call(
    'dulwich.pack.Pack.get_raw',
    'l',
    ms,
    call(
      'dulwich.pack.PackData.get_object_at',
      'l',
      ms * 0.93,
      call(
        'dulwich.pack.unpack_object',
        'l',
        ms * 0.62,
        call('zlib.decompressobj.decompress', 'r', ms * 0.5),
      ),
      wait('os.pread', 'r', ms * 0.22, 1),
    ),
  );

const object = (ms, i) =>
  call(
    'dulwich.object_store.BaseObjectStore.__getitem__',
    'l',
    ms,
    call('dulwich.object_store.PackBasedObjectStore.get_raw', 'l', ms * 0.38, raw(ms * 0.36)),
    call(
      'dulwich.objects.ShaFile.from_raw_string',
      'l',
      ms * 0.59,
      call(
        'dulwich.objects.Tree._deserialize',
        'l',
        ms * 0.55,
        call('dulwich.objects.parse_tree', 'l', ms * 0.42),
        i % 4 === 2
          ? wait('gc.collect', 'r', ms * 0.1, 3)
          : call('dict.__setitem__', 'r', ms * 0.06),
      ),
    ),
  );

const highlight = (ms, i) =>
  call(
    'klaus.highlighting.highlight_or_render',
    'a',
    ms,
    call(
      'pygments.highlight',
      'l',
      ms * 0.95,
      call(
        'pygments.formatters.html.HtmlFormatter.format',
        'l',
        ms * 0.92,
        call(
          'pygments.formatters.html.HtmlFormatter._format_lines',
          'l',
          ms * 0.88,
          call(
            'pygments.lexer.RegexLexer.get_tokens_unprocessed',
            'l',
            ms * 0.68,
            ...repeat(4, ms * 0.6, (part, j) =>
              j === 2 && i % 2
                ? wait('take_gil', 'r', part, 2)
                : call('re.Pattern.match', 'r', part),
            ),
          ),
          call('html.escape', 'r', ms * 0.1),
        ),
      ),
    ),
  );

export const request = () => [
  call(
    'gunicorn.workers.sync.SyncWorker.handle_request',
    'l',
    405.5,
    call(
      'flask.app.Flask.wsgi_app',
      'l',
      369.6,
      call(
        'flask.app.Flask.full_dispatch_request',
        'l',
        366.5,
        call(
          'klaus.views.BaseRepoView.dispatch_request',
          'a',
          362.4,
          call(
            'klaus.views.CommitView.make_template_context',
            'a',
            216.8,
            call(
              'klaus.repo.FancyRepo.get_commit',
              'a',
              22.1,
              call('dulwich.repo.BaseRepo.get_object', 'l', 21.2, raw(19.6)),
            ),
            call(
              'klaus.repo.FancyRepo.commit_diff',
              'a',
              189.3,
              call(
                'dulwich.diff_tree.tree_changes',
                'l',
                134.2,
                call('dulwich.diff_tree.walk_trees', 'l', 131, ...repeat(7, 124.5, object)),
              ),
              call(
                'klaus.diff.render_diff',
                'a',
                51.4,
                ...repeat(3, 49.2, (ms) =>
                  call(
                    'difflib.SequenceMatcher.get_grouped_opcodes',
                    'r',
                    ms,
                    call('difflib.SequenceMatcher.find_longest_match', 'r', ms * 0.86),
                  ),
                ),
              ),
            ),
          ),
          call(
            'flask.templating.render_template',
            'l',
            141.9,
            call(
              'jinja2.environment.Template.render',
              'l',
              139.2,
              call(
                'view_commit.html: root',
                'a',
                136.8,
                call('view_commit.html: block_content', 'a', 131, ...repeat(4, 118.3, highlight)),
              ),
            ),
          ),
        ),
      ),
    ),
    call('werkzeug.wsgi.ClosingIterator.__next__', 'l', 33.9, wait('socket.send', 'r', 24.6, 1)),
  ),
];

export function restart() {
  seed = 11;
}
