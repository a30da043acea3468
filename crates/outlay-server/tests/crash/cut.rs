//! What is left of the files when power is lost: what was synced, and of the rest any sectors or none.

use std::path::{Path, PathBuf};

use crate::client::mixed;

const SECTOR: usize = 512;

/// The folder of a store and, if power may be lost, the shadow with what was synced.
pub(crate) struct Disk {
    folder: PathBuf,
    shadow: PathBuf,
    shim: Option<PathBuf>,
}

impl Disk {
    pub(crate) fn new(place: &Path, shim: Option<&Path>) -> Self {
        let place = place.canonicalize().unwrap();
        let disk = Self { folder: place.join("disk"), shadow: place.join("shadow"), shim: shim.map(Path::to_owned) };
        for folder in [&disk.folder, &disk.shadow] {
            std::fs::create_dir_all(folder).unwrap();
        }
        disk
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// What the program must be told so that it is watched.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let Some(shim) = &self.shim else { return Vec::new() };
        let word = |path: &Path| path.to_str().unwrap().to_owned();
        vec![("LD_PRELOAD", word(shim)), ("OUTLAY_DISK", word(&self.folder)), ("OUTLAY_SHADOW", word(&self.shadow))]
    }

    /// Power is lost.
    pub(crate) fn cut(&self, seed: u64) {
        if self.shim.is_none() {
            return;
        }
        let mut left = Vec::new();
        for name in names(&self.shadow).into_iter().filter(|name| !name.ends_with(".partial")) {
            let synced = std::fs::read(self.shadow.join(&name)).unwrap();
            let written = std::fs::read(self.folder.join(&name)).unwrap_or_default();
            left.push((name, torn(synced, &written, seed)));
        }
        names(&self.folder).into_iter().for_each(|name| std::fs::remove_file(self.folder.join(name)).unwrap());
        for (name, bytes) in left {
            std::fs::write(self.folder.join(name), bytes).unwrap();
        }
    }

    /// What is there after the check is on disk.
    pub(crate) fn settle(&self) {
        names(&self.shadow).into_iter().for_each(|name| std::fs::remove_file(self.shadow.join(name)).unwrap());
        for name in names(&self.folder) {
            std::fs::copy(self.folder.join(&name), self.shadow.join(&name)).unwrap();
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Every second time nothing but what was synced; else each sector that was written since is there with one chance in two, in whatever
/// order they were written.
fn torn(mut synced: Vec<u8>, written: &[u8], seed: u64) -> Vec<u8> {
    if seed % 2 == 0 {
        return synced;
    }
    for (number, sector) in written.chunks(SECTOR).enumerate() {
        let (from, to) = (number * SECTOR, number * SECTOR + sector.len());
        if mixed(seed ^ (number as u64) << 20) % 2 == 0 {
            if synced.len() < to {
                synced.resize(to, 0);
            }
            synced[from..to].copy_from_slice(sector);
        }
    }
    synced
}
