//! Every kind of alarm: its name, how grave it is, what it means, and what to do.
//!
//! A new alarm of `/status` is a variant, a place in `ALL`, and an arm of `advice`. Names are those
//! of the label `kind` and of headings, so they stay.
//! Grave is what costs answers or records; everything else can wait for the morning.

/// What an alarm is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmKind {
    /// A model has no good file.
    ModelMissing,
    /// An upstream has no healthy server or worker.
    UpstreamDown,
    /// The newest file of a model is bad.
    ModelFile,
    /// A model reads what no item has.
    ModelFields,
    /// The profile file.
    Profiles,
    /// The journal cannot be written.
    Journal,
    /// A consumer of the journal is far behind.
    JournalUnread,
    /// The cache on disk.
    DiskCache,
    /// A name of an upstream cannot be looked up.
    UpstreamNames,
    /// A server of an upstream is in trouble.
    UpstreamServer,
    /// An upstream answers with errors of its own.
    UpstreamErrors,
    /// The guard keeps users from personalised answers.
    Guard,
    /// Live changes cannot be kept.
    Overrides,
    /// The trail of actions.
    Audit,
    /// The build of profiles.
    ProfileBuild,
    /// A backend or the snapshot of statsd.
    Statsd,
    /// A pool of Python workers.
    Workers,
    /// The record process: sources and sinks.
    Record,
    /// Lines of a log are lost.
    Losses,
}

/// What people read of a kind.
pub(crate) struct Advice {
    /// The name of the kind.
    pub name: &'static str,
    /// Whether answers or records are at stake.
    pub is_grave: bool,
    /// What it means, as a sentence.
    pub means: &'static str,
    /// What to do, in sentences.
    pub remedy: &'static str,
    /// Where more is said: a page and a heading, from `docs/operating`.
    pub more: &'static str,
}

const fn advice(
    name: &'static str,
    is_grave: bool,
    [means, remedy, more]: [&'static str; 3],
) -> Advice {
    Advice { name, is_grave, means, remedy, more }
}

impl AlarmKind {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::ModelMissing,
        Self::UpstreamDown,
        Self::ModelFile,
        Self::ModelFields,
        Self::Profiles,
        Self::Journal,
        Self::JournalUnread,
        Self::DiskCache,
        Self::UpstreamNames,
        Self::UpstreamServer,
        Self::UpstreamErrors,
        Self::Guard,
        Self::Overrides,
        Self::Audit,
        Self::ProfileBuild,
        Self::Statsd,
        Self::Workers,
        Self::Record,
        Self::Losses,
    ];

    /// Returns its name, as in the label `kind` of `tidegate_alarms`.
    pub fn name(self) -> &'static str {
        self.advice().name
    }

    pub(crate) fn advice(self) -> Advice {
        match self {
            Self::ModelMissing => MODEL_MISSING,
            Self::UpstreamDown => UPSTREAM_DOWN,
            Self::ModelFile => MODEL_FILE,
            Self::ModelFields => MODEL_FIELDS,
            Self::Profiles => PROFILES,
            Self::Journal => JOURNAL,
            Self::JournalUnread => JOURNAL_UNREAD,
            Self::DiskCache => DISK_CACHE,
            Self::UpstreamNames => UPSTREAM_NAMES,
            Self::UpstreamServer => UPSTREAM_SERVER,
            Self::UpstreamErrors => UPSTREAM_ERRORS,
            Self::Guard => GUARD,
            Self::Overrides => OVERRIDES,
            Self::Audit => AUDIT,
            Self::ProfileBuild => PROFILE_BUILD,
            Self::Statsd => STATSD,
            Self::Workers => WORKERS,
            Self::Record => RECORD,
            Self::Losses => LOSSES,
        }
    }
}

const MODEL_MISSING: Advice = advice(
    "model-missing",
    true,
    [
        "A model has no good file yet, so nothing can be answered with it.",
        "Look whether the file is where the configuration says. Another alarm of the model says \
         what is wrong with it.",
        "../MODELS.md#generations",
    ],
);
const UPSTREAM_DOWN: Advice = advice(
    "upstream-down",
    true,
    [
        "An upstream has no healthy server or worker; requests get stale answers, or 503.",
        "Look at the app: the alarms of its servers or workers say what they do.",
        "failures.md#servers-in-trouble",
    ],
);
const MODEL_FILE: Advice = advice(
    "model-file",
    false,
    [
        "The newest file of a model or of its items is bad; the last good one answers.",
        "Mend the file, or put the old one back. `tidegate model inspect FILE` says what is wrong.",
        "../MODELS.md#generations",
    ],
);
const MODEL_FIELDS: Advice = advice(
    "model-fields",
    false,
    [
        "A model reads a field that no item has, so its scores are not those of its training.",
        "Compare the items with those of the training.",
        "../MODELS.md#the-keys-of-a-model",
    ],
);
const PROFILES: Advice = advice(
    "profiles",
    false,
    [
        "The profile file is missing, bad, or its changes are not read; without a good one \
         everybody is `fallback`.",
        "`tidegate profiles check FILE` says what is wrong.",
        "profiles.md#when-a-build-is-refused",
    ],
);
const JOURNAL: Advice = advice(
    "journal",
    true,
    [
        "The journal cannot be written, so exchanges wait in memory, and are then not recorded.",
        "Make room on its disk, or mend it. `unrecorded` of `/status` says whether something is \
         lost.",
        "failures.md#disks-and-clocks",
    ],
);
const JOURNAL_UNREAD: Advice = advice(
    "journal-unread",
    false,
    [
        "A reader of the journal is so far behind that lines will be kept, refused or deleted.",
        "Mend its sink, or raise `journal.keep`. A consumer that is gone for ever has a file in \
         `consumers` of the journal: delete it.",
        "events.md#how-long-the-journal-waits",
    ],
);
const DISK_CACHE: Advice = advice(
    "disk-cache",
    false,
    [
        "The cache on disk does not work; memory alone answers.",
        "Look at the disk: the alarm has the system's reason.",
        "cache-on-disk.md",
    ],
);
const UPSTREAM_NAMES: Advice = advice(
    "upstream-names",
    false,
    [
        "A name of an upstream cannot be looked up; its last good addresses stay in use.",
        "Ask the name server for the name, from this machine.",
        "upstream-names.md#when-a-look-up-fails",
    ],
);
const UPSTREAM_SERVER: Advice = advice(
    "upstream-server",
    false,
    [
        "A server of an upstream refuses connections, fails requests, or fails its probes.",
        "Look at that server. Others are asked as long as there are any.",
        "failures.md#servers-in-trouble",
    ],
);
const UPSTREAM_ERRORS: Advice = advice(
    "upstream-errors",
    false,
    [
        "Half of the answers of an upstream's server are errors of its own (5xx).",
        "Look at the log of the app.",
        "failures.md#servers-in-trouble",
    ],
);
const GUARD: Advice = advice(
    "guard",
    false,
    [
        "Personalised answers fail or are late, so the guard lets fewer users get them.",
        "Look at the target of `personalise.to`, or of the route. The guard opens by itself.",
        "live-changes.md#the-guard",
    ],
);
const OVERRIDES: Advice = advice(
    "overrides",
    false,
    [
        "Live changes cannot be read or kept, so a restart may forget a kill switch.",
        "Mend `data/live.toml`, or its directory.",
        "live-changes.md#rollout-and-kill-switch",
    ],
);
const AUDIT: Advice = advice(
    "audit",
    false,
    [
        "Actions of operators cannot be recorded.",
        "Make room for the trail, or mend syslog.",
        "audit.md#where-the-trail-cannot-be-written",
    ],
);
const PROFILE_BUILD: Advice = advice(
    "profile-build",
    false,
    [
        "The last build of profiles failed; the profiles before it stay in use.",
        "The alarm has the reason; `tidegate profiles build` tries it by hand.",
        "profiles.md#when-a-build-is-refused",
    ],
);
const STATSD: Advice = advice(
    "statsd",
    false,
    [
        "A backend of statsd does not take flushes, or its state cannot be kept.",
        "Look at the backend. Flushes for it wait, and the oldest are lost in the end.",
        "../STATSD.md#what-is-counted-when-things-go-wrong",
    ],
);
const WORKERS: Advice = advice(
    "workers",
    false,
    [
        "A pool of Python workers cannot start, load its code, or keep its workers.",
        "`tidegate workers list` shows the traceback, and the last lines that were printed.",
        "../WORKERS.md#troubles",
    ],
);
const RECORD: Advice = advice(
    "record",
    false,
    [
        "The record process does not deliver: a source, a sink or the process itself fails.",
        "`tidegate events status` shows how far each sink is behind. Lines wait in the journal.",
        "failures.md#delivery-into-a-database",
    ],
);
const LOSSES: Advice = advice(
    "losses",
    true,
    [
        "Lines of a log are gone, or were not written, before they were counted.",
        "`tidegate events losses` lists them; it also ends the alarm, once you know.",
        "events.md#what-is-lost-is-said",
    ],
);
