//! Configuration of the service: flags, then environment variables, then a file, then defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use outlay_server::http::PathPrefix;
use outlay_server::limits::Limits;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::args::{LogFormat, LogLevel, ServeArgs, StoreArgs, Switch, seconds};
use crate::failure::Failure;

const DEFAULT_PORT: u16 = 7341;
/// A longer drain is a mistake: supervisors kill a process that does not stop.
const MAX_DRAIN: Duration = Duration::from_secs(3600);
/// Environment variables that set a key, and those that set a limit.
const KEY_PREFIX: &str = "OUTLAY_";
const LIMIT_PREFIX: &str = "OUTLAY_LIMIT_";
/// Keys that select a store; at most one of them is set.
const STORES: [&str; 3] = ["data", "database", "memory"];

/// Everything that can be configured, with the names of the flags.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Config {
    pub(super) listen: SocketAddr,
    pub(super) metrics: Option<SocketAddr>,
    data: Option<PathBuf>,
    #[serde(skip_serializing)]
    database: Option<String>,
    memory: bool,
    pub(super) any_file_system: bool,
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) log: LogLevel,
    pub(super) log_format: LogFormat,
    pub(super) access_log: Switch,
    prefix: String,
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub(super) drain: Duration,
    pub(super) campaign_metrics: bool,
    retain: Option<String>,
    pub(super) limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            metrics: None,
            data: None,
            database: None,
            memory: false,
            any_file_system: false,
            tls_cert: None,
            tls_key: None,
            log: LogLevel::Info,
            log_format: LogFormat::Text,
            access_log: Switch::On,
            prefix: String::new(),
            drain: Duration::ZERO,
            campaign_metrics: false,
            retain: None,
            limits: Limits::default(),
        }
    }
}

impl Config {
    /// The configuration of a call, checked.
    pub(super) fn load(arguments: &ServeArgs) -> Result<Self, Failure> {
        let mut layers = Layers::default();
        let path = arguments
            .config
            .clone()
            .or_else(|| std::env::var_os("OUTLAY_CONFIG").map(PathBuf::from));
        if let Some(path) = &path {
            layers.add_file(path)?;
        }
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        layers.add_environment(variables)?;
        for limit in &arguments.limits {
            let (name, value) = limit.split_once('=').unwrap_or((limit, ""));
            layers.set_limit(name.trim(), value.trim(), "--limit")?;
        }
        let mut config: Self =
            layers.0.try_into().map_err(|error| invalid("configuration", &error))?;
        config.add_flags(arguments);
        config.check()?;
        Ok(config)
    }

    /// Flags come before everything else.
    fn add_flags(&mut self, arguments: &ServeArgs) {
        let StoreArgs { data, database, memory } = &arguments.store;
        if data.is_some() || database.is_some() || *memory {
            (self.data, self.database, self.memory) = (data.clone(), database.clone(), *memory);
        }
        self.listen = arguments.listen.unwrap_or(self.listen);
        self.metrics = arguments.metrics.or(self.metrics);
        self.any_file_system |= arguments.any_file_system;
        if arguments.tls_cert.is_some() {
            (self.tls_cert, self.tls_key) = (arguments.tls_cert.clone(), arguments.tls_key.clone());
        }
        self.log = arguments.log.unwrap_or(self.log);
        self.log_format = arguments.log_format.unwrap_or(self.log_format);
        self.access_log = arguments.access_log.unwrap_or(self.access_log);
        if let Some(prefix) = &arguments.prefix {
            self.prefix = prefix.as_str().to_owned();
        }
        self.drain = arguments.drain.unwrap_or(self.drain);
        self.campaign_metrics |= arguments.campaign_metrics;
        self.retain = arguments.retain.clone().or_else(|| self.retain.take());
        let limits = &mut self.limits;
        limits.requests_per_second = arguments.rate.unwrap_or(limits.requests_per_second);
        limits.campaigns = arguments.campaigns.map_or(limits.campaigns, |number| number as usize);
    }

    fn check(&self) -> Result<(), Failure> {
        let stores = [self.data.is_some(), self.database.is_some(), self.memory];
        if stores.into_iter().filter(|is_set| *is_set).count() > 1 {
            return Err(Failure("configuration: set only one of data, database and memory".into()));
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(Failure("configuration: tls_cert and tls_key belong together".into()));
        }
        if self.drain > MAX_DRAIN {
            let given = self.drain;
            return Err(Failure(format!("configuration: drain is {given:?}; expected at most 1h")));
        }
        self.prefix()?;
        self.retain()?;
        Ok(self.limits.check()?)
    }

    /// The path below which everything is served.
    pub(super) fn prefix(&self) -> Result<PathPrefix, Failure> {
        self.prefix.parse().map_err(|error| Failure(format!("configuration: prefix: {error}")))
    }

    /// How long rounds are kept after they have expired.
    pub(super) fn retain(&self) -> Result<Option<Duration>, Failure> {
        let parse = |text: &String| {
            seconds(text)
                .map(Duration::from_secs)
                .map_err(|error| Failure(format!("configuration: retain: {error}, got `{text}`")))
        };
        self.retain.as_ref().map(parse).transpose()
    }

    /// The store that is selected.
    pub(super) fn store(&self) -> StoreArgs {
        StoreArgs { data: self.data.clone(), database: self.database.clone(), memory: self.memory }
    }

    /// The configuration as a file. The database is not shown, because its URL may contain a
    /// password.
    pub(super) fn to_toml(&self) -> Result<String, Failure> {
        let text = toml::to_string(self)?;
        Ok(match self.database {
            Some(_) => format!(
                "# database is set; it is not shown because it may contain a password\n{text}"
            ),
            None => text,
        })
    }
}

/// The settings of the file, replaced by those of the environment and of `--limit`.
#[derive(Debug, Default)]
struct Layers(Table);

impl Layers {
    fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure(format!("cannot read {name}: {error}")))?;
        // Once as a whole for the messages, which name the line.
        toml::from_str::<Config>(&text).map_err(|error| invalid(&name.to_string(), &error))?;
        self.0 = toml::from_str(&text).map_err(|error| invalid(&name.to_string(), &error))?;
        Ok(())
    }

    fn add_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), Failure> {
        let known = [
            "listen",
            "metrics",
            "any_file_system",
            "tls_cert",
            "tls_key",
            "log",
            "log_format",
            "access_log",
            "prefix",
            "drain",
            "campaign_metrics",
            "retain",
        ];
        // In the order of their names, so that messages do not depend on the order of the process.
        let mut variables: Vec<(String, String)> = variables
            .filter(|(name, value)| name.starts_with(KEY_PREFIX) && !value.is_empty())
            .collect();
        variables.sort_unstable();
        for (variable, text) in variables {
            let origin = format!("environment variable {variable}");
            if let Some(limit) = variable.strip_prefix(LIMIT_PREFIX) {
                self.set_limit(&limit.to_lowercase(), &text, &origin)?;
                continue;
            }
            let key = variable[KEY_PREFIX.len()..].to_lowercase();
            if STORES.contains(&&*key) {
                STORES.iter().for_each(|store| drop(self.0.remove(*store)));
            } else if !known.contains(&&*key) {
                continue;
            }
            let value = typed(&defaults(), &key, &text, &origin)?;
            let alone = Table::from_iter([(key.clone(), value.clone())]);
            alone.try_into::<Config>().map_err(|error| invalid(&origin, &error))?;
            self.0.insert(key, value);
        }
        Ok(())
    }

    fn set_limit(&mut self, name: &str, text: &str, origin: &str) -> Result<(), Failure> {
        let defaults = limit_defaults();
        if !defaults.contains_key(name) {
            let names: Vec<&str> = defaults.keys().map(String::as_str).collect();
            return Err(Failure(format!(
                "{origin}: there is no limit `{name}`; expected one of {}",
                names.join(", ")
            )));
        }
        let origin = format!("{origin}: limit {name}");
        let value = typed(&defaults, name, text, &origin)?;
        let alone = Table::from_iter([(name.to_owned(), value.clone())]);
        alone.try_into::<Limits>().map_err(|error| match value {
            Value::String(_) => {
                Failure(format!("{origin}: expected a time such as 30s or 2m, got `{text}`"))
            }
            _ => invalid(&origin, &error),
        })?;
        let limits = self.0.entry("limits").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(limits) = limits {
            limits.insert(name.to_owned(), value);
        }
        Ok(())
    }
}

fn defaults() -> Table {
    Table::try_from(Config::default()).unwrap_or_default()
}

fn limit_defaults() -> Table {
    Table::try_from(Limits::default()).unwrap_or_default()
}

/// The value of a key given as text, of the type that its default has; without one it is a string.
fn typed(defaults: &Table, key: &str, text: &str, origin: &str) -> Result<Value, Failure> {
    let expected = |what: &str| Failure(format!("{origin}: expected {what}, got `{text}`"));
    Ok(match defaults.get(key) {
        Some(Value::Integer(_)) => {
            Value::Integer(text.parse().map_err(|_| expected("a whole number"))?)
        }
        Some(Value::Boolean(_)) => {
            Value::Boolean(text.parse().map_err(|_| expected("`true` or `false`"))?)
        }
        _ => Value::String(text.to_owned()),
    })
}

fn invalid(origin: &str, error: &toml::de::Error) -> Failure {
    Failure(format!("{origin}: {}", error.to_string().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Result<Config, Failure> {
        let mut layers = Layers(toml::from_str("data = 'kept'\n[limits]\ntasks = 5").unwrap());
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        layers.add_environment(pairs)?;
        Ok(layers.0.try_into().unwrap())
    }

    #[test]
    fn environment_variables_replace_the_file() {
        let config = environment(&[
            ("OUTLAY_LISTEN", "127.0.0.1:9"),
            ("OUTLAY_LIMIT_OPEN_ROUNDS", "77"),
            ("OUTLAY_LIMIT_BODY_TIMEOUT", "2m"),
            ("OUTLAY_MEMORY", "true"),
            ("OUTLAY_ACCESS_LOG", "off"),
            ("OUTLAY_PREFIX", "/outlay/"),
            ("OUTLAY_DRAIN", "5s"),
            ("OUTLAY_TOKEN", "something else"),
        ])
        .unwrap();
        assert_eq!(config.listen.port(), 9);
        assert_eq!((config.limits.tasks, config.limits.open_rounds), (5, 77));
        assert_eq!(config.limits.body_timeout.as_secs(), 120);
        assert_eq!((config.access_log, config.drain.as_secs()), (Switch::Off, 5));
        assert_eq!(config.prefix().unwrap().as_str(), "/outlay");
        assert!(config.memory && config.data.is_none(), "one store at a time");
    }

    #[test]
    fn a_bad_variable_is_named() {
        let message = |name, value| environment(&[(name, value)]).unwrap_err().0;
        assert!(
            message("OUTLAY_LIMIT_TASK", "1")
                .contains("OUTLAY_LIMIT_TASK: there is no limit `task`; expected one of tasks, ")
        );
        assert_eq!(
            message("OUTLAY_LIMIT_TASKS", "many"),
            "environment variable OUTLAY_LIMIT_TASKS: limit tasks: expected a whole number, got `many`"
        );
        assert!(
            message("OUTLAY_LISTEN", "here").starts_with("environment variable OUTLAY_LISTEN: ")
        );
        assert!(message("OUTLAY_LOG", "loud").contains("unknown variant `loud`"));
        assert!(message("OUTLAY_DRAIN", "soon").starts_with("environment variable OUTLAY_DRAIN: "));
        let invalid = Config { prefix: "outlay".into(), ..Config::default() };
        let message = invalid.check().unwrap_err().0;
        assert!(message.starts_with("configuration: prefix: `outlay` is not a path"), "{message}");
    }

    #[test]
    fn the_printed_configuration_can_be_read() {
        let config = Config { metrics: Some("127.0.0.1:9".parse().unwrap()), ..Config::default() };
        let again: Config = toml::from_str(&config.to_toml().unwrap()).unwrap();
        assert_eq!(again.to_toml().unwrap(), config.to_toml().unwrap());
        let secret = Config { database: Some("postgres://a:secret@b/c".into()), ..config };
        assert!(!secret.to_toml().unwrap().contains("secret"));
    }
}
