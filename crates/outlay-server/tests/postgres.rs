//! Tests of several replicas, which only PostgreSQL supports. Tests of all stores are in `stores`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use outlay_server::store::{
    Command, Done, PostgresOptions, PostgresStore, Refusal, Slots, Standing, Store, StoreError,
    TaskCount,
};

use crate::support::commands::*;
use crate::support::database::Database;
use crate::support::proxy::Proxy;

const TASKS: u32 = 4;

/// Opens replicas and creates a campaign with rounds 1..=rounds.
fn replicas(database: &Database, count: usize, rounds: u64) -> Vec<PostgresStore> {
    let stores: Vec<_> = (0..count).map(|_| database.store()).collect();
    assert_eq!(one(&stores[0], create("c", TASKS)), Ok(Done::Created));
    if rounds > 0 {
        assert_eq!(one(&stores[0], ask("c", 1..rounds + 1, TASKS)), Ok(Done::Asked));
    }
    stores
}

fn sound(store: &PostgresStore) {
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

/// Checks that this run of the server had no deadlocks.
fn no_deadlocks(database: &Database) {
    let log = std::env::var("OUTLAY_TEST_POSTGRES_LOG")
        .map(|path| std::fs::read_to_string(path).unwrap())
        .unwrap_or_default();
    assert!(!log.contains("deadlock detected"));
    assert_eq!(
        database.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"),
        ["0"]
    );
}

/// Pseudorandom numbers with a fixed seed.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn repeated_reports_from_32_threads_count_once() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 4, 400);
    let new = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for thread in 0..32_usize {
            let (store, new) = (&stores[thread % 4], &new);
            // Each pair of threads reports the same rounds at two replicas, in opposite orders and
            // different batches.
            let mut rounds: Vec<u64> =
                (0..25).map(|step| 1 + (thread as u64 / 2) * 25 + step).collect();
            if thread % 2 == 1 {
                rounds.reverse();
            }
            scope.spawn(move || {
                for part in rounds.chunks(1 + thread % 7) {
                    let outcomes =
                        |round| [(3, done(round)), (0, FAILED), (2, done(7)), (1, done(2 * round))];
                    let batch: Vec<_> =
                        part.iter().map(|round| tell("c", *round, &outcomes(*round))).collect();
                    for (round, answer) in part.iter().zip(store.apply(&batch).unwrap()) {
                        let Ok(Done::Told { is_new, is_complete: true }) = answer else {
                            panic!("{answer:?}")
                        };
                        for place in is_new
                            .iter()
                            .enumerate()
                            .filter(|(_, is_new)| **is_new)
                            .map(|(place, _)| place)
                        {
                            assert!(
                                new.lock().unwrap().insert((*round, place)),
                                "counted as new twice"
                            );
                        }
                    }
                }
            });
        }
    });
    assert_eq!(new.lock().unwrap().len(), 1600);
    let sum: u64 = (1..=400).sum();
    let count = |completions, reward_sum, task| TaskCount {
        told: 400,
        completions,
        reward_sum,
        expected: 400 * chance(task),
        ..TaskCount::default()
    };
    let tasks =
        vec![count(0, 0, 0), count(400, 2 * sum, 1), count(400, 2800, 2), count(400, sum, 3)];
    for store in &stores {
        assert_eq!(
            store.standing("c").unwrap(),
            Standing { tasks: tasks.clone(), version: 1600, rounds: 400, late: 0 }
        );
    }
    assert_eq!(database.sql("SELECT count(*) FROM feedback"), ["1600"]);
    sound(&stores[0]);
    no_deadlocks(&database);
}

#[test]
fn replicas_at_a_busy_campaign_do_not_collide() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 3, 0);
    let handed_out = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..9_u64 {
            let (store, handed_out) = (&stores[thread as usize % 3], &handed_out);
            scope.spawn(move || {
                let mut draw = draws(thread);
                for _ in 0..12 {
                    let count = [1, 1, 2, 40, 64, 65, 256][draw(7) as usize];
                    let rounds = store.lease_rounds("c", count).unwrap();
                    assert_eq!(rounds.end - rounds.start, u64::from(count));
                    assert_eq!(one(store, ask("c", rounds.clone(), TASKS)), Ok(Done::Asked));
                    let mut batch = Vec::new();
                    for round in rounds.clone().take(20) {
                        batch.push(tell("c", round, &[(draw(4) as u32, done(draw(1000)))]));
                    }
                    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
                    handed_out.lock().unwrap().push(rounds);
                }
            });
        }
    });
    let handed_out = handed_out.into_inner().unwrap();
    let all: BTreeSet<u64> = handed_out.iter().flat_map(Clone::clone).collect();
    let count: u64 = handed_out.iter().map(|rounds| rounds.end - rounds.start).sum();
    assert_eq!(all.len() as u64, count, "a round was issued twice");
    assert_eq!(stores[1].standing("c").unwrap().rounds, count);
    assert_eq!(
        stores[2]
            .rounds("c", 0, usize::MAX)
            .unwrap()
            .iter()
            .map(|row| row.round)
            .collect::<BTreeSet<_>>(),
        all
    );
    sound(&stores[0]);
    no_deadlocks(&database);
}

#[test]
fn of_conflicting_reports_one_wins_and_others_are_unaffected() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 4, 100);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let spawn = |number: usize| {
            let store = &stores[number];
            // Each replica reports different outcomes of the first task, and its own rounds of the
            // last.
            let tells = (1..=100)
                .map(|round| tell("c", round, &[(0, done(number as u64)), (1, done(round))]))
                .collect::<Vec<_>>();
            let own = (1..=25).map(|step| tell("c", 25 * number as u64 + step, &[(3, FAILED)]));
            let batch: Vec<_> = tells.into_iter().chain(own).collect();
            scope.spawn(move || {
                batch.chunks(31).flat_map(|part| store.apply(part).unwrap()).collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = (0..4).map(spawn).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut winners = BTreeMap::new();
    for (number, answers) in answers.iter().enumerate() {
        for (place, answer) in answers.iter().enumerate() {
            match answer {
                Ok(Done::Told { is_new, .. }) if place < 100 => {
                    assert_eq!(*is_new, [true, true]);
                    assert_eq!(winners.insert(place, number), None, "two reports won");
                }
                Ok(Done::Told { is_new, .. }) => assert_eq!(*is_new, [true]),
                Err(Refusal::Conflict { task: 0, stored }) if place < 100 => {
                    assert_ne!(*stored, done(number as u64))
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(winners.len(), 100);
    let rounds = stores[0].rounds("c", 0, 1000).unwrap();
    for (place, row) in rounds.iter().enumerate() {
        assert_eq!(
            row.told,
            [(0, done(winners[&place] as u64)), (1, done(row.round)), (3, FAILED)]
        );
    }
    assert_eq!(stores[0].standing("c").unwrap().version, 300);
    sound(&stores[0]);
    no_deadlocks(&database);
}

#[test]
fn connections_are_counted() {
    let Some(database) = Database::new() else { return };
    let store = database.store();
    store.tokens().unwrap();
    let pools = store.metrics().pools;
    assert_eq!(pools.iter().map(|pool| pool.name).collect::<Vec<_>>(), ["read", "write"]);
    for pool in pools {
        assert!(pool.max >= 1 && pool.size <= pool.max && pool.waiting == 0, "{pool:?}");
        assert_eq!(pool.available, pool.size, "a connection is in use: {pool:?}");
        assert!(pool.name == "write" || pool.size >= 1, "{pool:?}");
    }
}

#[test]
fn concurrent_halves_complete_a_round() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 2, 60);
    for round in 1..=60 {
        let complete: Vec<bool> = std::thread::scope(|scope| {
            let half = |number: u32| {
                let (store, command) = (
                    &stores[number as usize],
                    tell("c", round, &[(2 * number, FAILED), (2 * number + 1, FAILED)]),
                );
                scope.spawn(move || match one(store, command) {
                    Ok(Done::Told { is_complete, .. }) => is_complete,
                    other => panic!("{other:?}"),
                })
            };
            let running = [half(0), half(1)];
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(complete.contains(&true), "round {round}");
    }
    assert_eq!(stores[0].open_rounds("c", 0).unwrap(), []);
}

#[test]
fn a_key_gets_rounds_once_among_replicas() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 4, 0);
    for attempt in 0..10 {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let spawn = |store| {
                scope.spawn(move || {
                    let store: &PostgresStore = store;
                    let rounds = store.lease_rounds("c", 2).unwrap();
                    let mut keyed = asked("c", rounds.clone(), TASKS);
                    keyed.key = key(&format!("key {attempt}"), 9, i64::MAX);
                    // In one batch with another command, which must succeed.
                    let free = store.lease_rounds("c", 1).unwrap();
                    let answers =
                        store.apply(&[ask("c", free, TASKS), Command::Ask(keyed)]).unwrap();
                    assert_eq!(answers[0], Ok(Done::Asked));
                    (rounds, answers[1].clone())
                })
            };
            let running: Vec<_> = stores.iter().map(spawn).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<_> =
            answers.iter().filter(|(_, answer)| *answer == Ok(Done::Asked)).collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        let used = Err(Refusal::KeyUsed { request: [9; 32], rounds: winners[0].0.clone() });
        assert_eq!(answers.iter().filter(|(_, answer)| *answer == used).count(), 3, "{answers:?}");
    }
    assert_eq!(stores[0].standing("c").unwrap().rounds, 10 * (4 + 2));
    sound(&stores[0]);
}

#[test]
fn concurrent_corrections_are_serialized() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 4, 1);
    assert_eq!(one(&stores[0], tell("c", 1, &[(0, done(0))])), counted(&[true], false));
    let steps = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            let steps = &steps;
            scope.spawn(move || {
                for step in 1..=10 {
                    let to = 100 * number as u64 + step;
                    let Ok(Done::Corrected { from, .. }) = one(store, correct("c", 1, 0, done(to)))
                    else {
                        panic!()
                    };
                    assert_eq!(
                        steps.lock().unwrap().insert(from.reward, to),
                        None,
                        "two corrections replaced the same outcome"
                    );
                }
            });
        }
    });
    let steps = steps.into_inner().unwrap();
    let (mut last, mut length) = (0, 0);
    while let Some(next) = steps.get(&last) {
        (last, length) = (*next, length + 1);
    }
    assert_eq!(length, 40, "the corrections must form one chain");
    assert_eq!(stores[0].rounds("c", 0, 1).unwrap()[0].told, [(0, done(last))]);
    let standing = stores[3].standing("c").unwrap();
    assert_eq!(
        (standing.tasks[0].reward_sum, standing.tasks[0].completions, standing.version),
        (last, 1, 41)
    );
    sound(&stores[0]);
}

#[test]
fn each_replica_counts_in_its_own_slot_and_free_slots_are_reused() {
    let Some(database) = Database::new() else { return };
    let mut stores = replicas(&database, 3, 10);
    for (number, store) in stores.iter().enumerate() {
        assert_eq!(
            one(store, tell("c", 1 + number as u64, &[(0, done(5))])),
            counted(&[true], false)
        );
    }
    assert_eq!(database.sql("SELECT slot FROM stat ORDER BY slot"), ["0", "1", "2"]);
    // The second replica closes, which frees its slot.
    stores.remove(1).close().unwrap();
    let slots = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
        AND classid::bigint = hashtext('outlay slot ' || current_schema())::bit(32)::bigint";
    for _ in 0..100 {
        if database.sql(slots) == ["2"] {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(database.sql(slots), ["2"]);
    assert_eq!(one(&database.store(), tell("c", 4, &[(0, done(5))])), counted(&[true], false));
    assert_eq!(database.sql("SELECT slot FROM stat ORDER BY slot"), ["0", "1", "2"]);
    assert_eq!(stores[0].standing("c").unwrap().tasks[0].reward_sum, 20);
    sound(&stores[0]);
}

#[test]
fn without_advisory_locks_the_name_selects_a_slot_and_counts_are_right() {
    let Some(database) = Database::new() else { return };
    let named = |name: &str| {
        PostgresStore::open(PostgresOptions {
            slots: Slots::Named,
            replica: name.into(),
            ..database.options()
        })
        .unwrap()
    };
    // Two replicas with the same name share a slot and wait for each other.
    let stores = [named("a"), named("a"), named("b")];
    assert_eq!(one(&stores[0], create("c", TASKS)), Ok(Done::Created));
    assert_eq!(one(&stores[0], ask("c", 1..301, TASKS)), Ok(Done::Asked));
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                for round in (1..=300).filter(|round| round % 3 == number as u64) {
                    assert!(one(store, tell("c", round, &[(1, done(round)), (0, FAILED)])).is_ok());
                }
            });
        }
    });
    let slots = database.sql("SELECT DISTINCT slot FROM tally ORDER BY slot");
    assert!(
        slots.len() <= 2
            && slots.iter().all(|slot| (64..128).contains(&slot.parse::<u32>().unwrap())),
        "{slots:?}"
    );
    assert_eq!(stores[0].standing("c").unwrap().tasks[1].reward_sum, 300 * 301 / 2);
    sound(&stores[0]);
    no_deadlocks(&database);
}

#[test]
fn when_all_slots_are_taken_the_name_selects_one() {
    let Some(database) = Database::new() else { return };
    let store = database.store();
    assert_eq!(one(&store, create("c", TASKS)), Ok(Done::Created));
    let schema = &database.schema;
    // The locks are held until the session ends, so the statement sleeps during the test.
    let hold = format!(
        "SELECT count(pg_advisory_lock(hashtext('outlay slot {schema}'), slot)) FROM generate_series(0, 63) slot; SELECT pg_sleep(3)"
    );
    std::thread::scope(|scope| {
        scope.spawn(|| database.sql(&hold));
        std::thread::sleep(std::time::Duration::from_millis(1000));
        assert_eq!(one(&store, ask("c", 1..3, TASKS)), Ok(Done::Asked));
    });
    let slots = database.sql("SELECT slot FROM tally");
    assert!(slots.len() == 1 && (64..128).contains(&slots[0].parse::<u32>().unwrap()), "{slots:?}");
}

#[test]
fn ids_are_leased_in_blocks_and_returned_on_close() {
    let Some(database) = Database::new() else { return };
    let stores = replicas(&database, 2, 0);
    let next = || database.sql("SELECT next_round FROM lease");
    for round in 1..=64 {
        assert_eq!(stores[0].lease_rounds("c", 1).unwrap(), round..round + 1);
    }
    assert_eq!(next(), ["65"]);
    assert_eq!(stores[0].lease_rounds("c", 256).unwrap(), 65..321, "a larger block on request");
    assert_eq!(next(), ["321"]);
    assert_eq!(stores[0].lease_rounds("c", 10).unwrap(), 321..331);
    assert_eq!(stores[1].lease_rounds("c", 1).unwrap(), 385..386);
    assert_eq!(stores[0].lease_rounds("c", 54).unwrap(), 331..385);
    assert_eq!(
        stores[0].lease_rounds("c", 1).unwrap(),
        449..450,
        "after the block of the other replica"
    );
    stores[1].close().unwrap();
    assert_eq!(next(), ["513"], "the other replica has taken later ids");
    stores[0].close().unwrap();
    assert_eq!(next(), ["450"]);
    assert_eq!(stores[1].lease_rounds("c", 1).unwrap(), 450..451);
}

#[test]
fn one_replica_leases_without_gaps() {
    let Some(database) = Database::new() else { return };
    let store = database.store();
    one(&store, create("c", 1)).unwrap();
    let mut taken: Vec<u64> = std::thread::scope(|scope| {
        let lease = || (0..200).map(|_| store.lease_rounds("c", 1).unwrap().start);
        let threads: Vec<_> =
            (0..16).map(|_| scope.spawn(move || lease().collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    taken.sort_unstable();
    assert_eq!(taken, (1..=16 * 200).collect::<Vec<_>>());
}

#[test]
fn replicas_that_start_together_create_the_tables_once() {
    let Some(database) = Database::new() else { return };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| database.store().health().unwrap());
        }
    });
    assert_eq!(database.sql("SELECT version FROM outlay_schema"), ["8"]);
}

#[test]
fn tables_of_the_first_form_are_migrated() {
    let Some(database) = Database::new() else { return };
    drop(database.store());
    // The tables of an earlier version.
    database.sql("ALTER TABLE token DROP COLUMN last_used_at, DROP COLUMN name");
    database.sql("ALTER TABLE outlay_schema DROP COLUMN is_importing");
    database.without_counts();
    database.sql("UPDATE outlay_schema SET version = 1");
    database.sql("INSERT INTO token VALUES ('a', decode(repeat('07', 32), 'hex'), '{read}', NULL, 10, NULL, 20)");
    let tokens = database.store().tokens().unwrap();
    assert_eq!((tokens.len(), tokens[0].revoked_at, tokens[0].last_used_at), (1, Some(20), None));
    assert_eq!(database.sql("SELECT version FROM outlay_schema"), ["8"]);
}

#[test]
fn newer_tables_are_refused() {
    let Some(database) = Database::new() else { return };
    drop(database.store());
    database.sql("UPDATE outlay_schema SET version = 99");
    let error = PostgresStore::open(database.options()).unwrap_err();
    assert!(
        error.is_fatal && error.what.contains("newer outlay") && error.what.contains("99"),
        "{error:?}"
    );
    assert_eq!(
        database.sql("SELECT version FROM outlay_schema"),
        ["99"],
        "the tables must not change"
    );
}

#[test]
fn an_unreachable_database_is_an_error_without_the_password() {
    let options = PostgresOptions::new("postgres://somebody:secretword@127.0.0.1:1/nowhere");
    assert!(!format!("{options:?}").contains("secretword"));
    let error = PostgresStore::open(options).unwrap_err();
    assert!(
        !error.is_fatal
            && !error.what.contains("secretword")
            && error.what.contains("cannot be reached"),
        "{error:?}"
    );
    let error = PostgresStore::open(PostgresOptions::new("postgres://somebody:secretword@[::1"))
        .unwrap_err();
    assert!(error.is_fatal && !error.what.contains("secretword"), "{error:?}");
}

/// The result of applying a batch.
type Applied = Result<Vec<Result<Done, Refusal>>, StoreError>;

/// A commit reaches the server, but its answer is lost. `apply` calls the store.
fn a_lost_answer(apply: impl Fn(&PostgresStore, &[Command]) -> Applied) {
    let Some(database) = Database::new() else { return };
    let direct = replicas(&database, 1, 0).remove(0);
    let mut options = database.options();
    let (before, rest) = options.url.rsplit_once(':').unwrap();
    let (port, after) = rest.split_once('/').unwrap();
    let proxy = Proxy::start(port.parse().unwrap());
    options.url = format!("{before}:{}/{after}", proxy.port);
    let store = PostgresStore::open(options).unwrap();
    let keyed = |store: &PostgresStore, name: &str| {
        let mut keyed = asked("c", store.lease_rounds("c", 1).unwrap(), TASKS);
        keyed.key = key(name, 3, i64::MAX);
        Command::Ask(keyed)
    };
    // The block is now leased and the campaign cached, so that the next commit is that of the ask.
    let first = keyed(&store, "first");
    assert_eq!(one(&store, first), Ok(Done::Asked));
    let second = keyed(&store, "second");
    proxy.loses_answer.store(true, std::sync::atomic::Ordering::SeqCst);
    let error = apply(&store, &[second]).unwrap_err();
    assert!(!error.is_fatal && error.what.contains("not known"), "{error:?}");
    assert_eq!(direct.rounds("c", 0, 10).unwrap().len(), 2, "the commit took effect");
    // The client repeats the request and gets the same rounds.
    let again = keyed(&store, "second");
    assert_eq!(one(&store, again), Err(Refusal::KeyUsed { request: [3; 32], rounds: 2..3 }));
    let report = tell("c", 2, &[(0, done(1))]);
    proxy.loses_answer.store(true, std::sync::atomic::Ordering::SeqCst);
    store.standing("c").unwrap();
    assert_eq!(
        one(&store, report.clone()),
        counted(&[true], false),
        "a lost answer to a read is retried"
    );
    proxy.loses_answer.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(apply(&store, std::slice::from_ref(&report)).is_err());
    assert_eq!(one(&store, report), counted(&[false], false));
    assert_eq!(direct.standing("c").unwrap().version, 1);
    sound(&direct);
}

#[test]
fn a_commit_without_an_answer_is_an_error_and_is_not_repeated() {
    a_lost_answer(|store, batch| store.apply(batch));
}

/// Checks the test itself with a store that treats an unknown commit as failed and repeats it.
#[test]
fn repeating_an_unknown_commit_is_caught() {
    let Some(_) = Database::new() else { return };
    let planted =
        || a_lost_answer(|store, batch| store.apply(batch).or_else(|_| store.apply(batch)));
    let caught = std::panic::catch_unwind(planted).unwrap_err();
    let said = caught.downcast_ref::<String>().expect("a message");
    assert!(said.contains("unwrap_err") && said.contains("KeyUsed"), "{said}");
}

#[test]
fn encryption_checks_the_certificate() {
    let Some(database) = Database::new() else { return };
    let root =
        std::env::var("OUTLAY_TEST_POSTGRES_ROOT").expect("the certificate of tests/with-postgres");
    let with = |query: &str| {
        let mut options = database.options();
        options.url += query;
        PostgresStore::open(options)
    };
    let store =
        with(&format!("?sslmode=require&sslrootcert={root}&application_name=encrypted")).unwrap();
    assert_eq!(one(&store, create("c", TASKS)), Ok(Done::Created));
    let ways = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'encrypted'";
    assert_eq!(database.sql(ways), ["t"]);
    let stranger = with("?sslmode=require").unwrap_err();
    assert!(stranger.what.contains("certificate"), "{stranger:?}");
    let missing = with("?sslmode=require&sslrootcert=/nowhere.pem").unwrap_err();
    assert!(missing.is_fatal && missing.what.contains("/nowhere.pem"), "{missing:?}");
}

#[test]
fn acknowledged_writes_are_synced_even_if_the_database_default_is_off() {
    let Some(database) = Database::new() else { return };
    let mut options = database.options();
    options.url += "?options=-c%20synchronous_commit%3Doff";
    let store = PostgresStore::open(options).unwrap();
    database.sql(
        "CREATE TABLE seen (setting text);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
         CREATE TRIGGER note AFTER INSERT ON told FOR EACH ROW EXECUTE FUNCTION note();
         CREATE TRIGGER note AFTER INSERT ON split FOR EACH ROW EXECUTE FUNCTION note();
         CREATE TRIGGER note AFTER INSERT ON change FOR EACH ROW EXECUTE FUNCTION note();
         CREATE TRIGGER note AFTER INSERT ON correction FOR EACH ROW EXECUTE FUNCTION note();",
    );
    let batch = [
        create("c", TASKS),
        ask("c", 1..2, TASKS),
        tell("c", 1, &[(0, FAILED)]),
        correct("c", 1, 0, done(1)),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    assert_eq!(database.sql("SELECT setting FROM seen"), ["on", "on", "on", "on"]);
}

#[test]
fn expired_keys_are_removed() {
    let Some(database) = Database::new() else { return };
    let store = replicas(&database, 1, 0).remove(0);
    let mut next = 1;
    let mut send = |count: u64, at: i64| {
        let keyed = |round| {
            let mut keyed = asked("c", round..round + 1, TASKS);
            (keyed.at, keyed.key) = (at, key(&format!("key {round}"), 1, at + 1000));
            Command::Ask(keyed)
        };
        let batch: Vec<_> = (next..next + count).map(keyed).collect();
        next += count;
        assert!(store.apply(&batch).unwrap().iter().all(|answer| *answer == Ok(Done::Asked)));
    };
    send(4000, 0);
    assert_eq!(database.sql("SELECT count(*) FROM idempotency"), ["4000"]);
    send(200, 5000);
    assert_eq!(database.sql("SELECT count(*) FROM idempotency"), ["200"]);
    assert!(store.used_key("asker", "key 4100", 5500).unwrap().is_some());
}

#[test]
fn verify_finds_inconsistencies() {
    let Some(database) = Database::new() else { return };
    let store = replicas(&database, 1, 20).remove(0);
    let batch: Vec<_> =
        (1..=20).map(|round| tell("c", round, &[(0, done(round)), (1, FAILED)])).collect();
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    assert_eq!(one(&store, correct("c", 3, 0, done(9))), corrected(done(3)));
    sound(&store);
    let verified = store.verify().unwrap();
    assert_eq!((verified.campaigns, verified.rounds, verified.items), (1, 20, 40));
    for (harm, remedy, part) in [
        (
            "UPDATE stat SET reward_sum = reward_sum + 1 WHERE task = 0",
            "UPDATE stat SET reward_sum = reward_sum - 1 WHERE task = 0",
            "task 0",
        ),
        (
            "UPDATE stat SET told = told - 1 WHERE task = 1",
            "UPDATE stat SET told = told + 1 WHERE task = 1",
            "task 1",
        ),
        (
            "INSERT INTO stat VALUES (1, 1, 1, 1, 1, 50, 0)",
            "DELETE FROM stat WHERE slot = 50",
            "task 0",
        ),
        ("UPDATE correction SET to_reward = 8", "UPDATE correction SET to_reward = 9", "task 0"),
        (
            "UPDATE tally SET late = late + 1",
            "UPDATE tally SET late = late - 1",
            "numbers of rounds",
        ),
        (
            "UPDATE split SET end_round = 22",
            "UPDATE split SET end_round = 21",
            "round 1 or one after it",
        ),
        (
            "UPDATE lease SET next_round = 20",
            "UPDATE lease SET next_round = 21",
            "round 1 or one after it",
        ),
        (
            "UPDATE told SET round = 99 WHERE round = 7",
            "UPDATE told SET round = 7 WHERE round = 99",
            "do not match",
        ),
    ] {
        database.sql(harm);
        let faults = store.verify().unwrap().faults;
        assert!(
            faults.iter().any(|fault| fault.starts_with("campaign c: ") && fault.contains(part)),
            "{harm}: {faults:?}"
        );
        database.sql(remedy);
        sound(&store);
    }
}
