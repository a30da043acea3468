//! Simulates a power cut: synced data survives, as does any part of the data not yet synced.

use std::fs;
use std::path::{Path, PathBuf};

use outlay::random::RoundDraws;

/// Disks write whole sectors.
const SECTOR: usize = 512;

/// Leaves in `folder` what would remain after a power cut. With `torn`, random sectors of the data
/// not yet synced survive too.
pub fn cut(folder: &Path, shadow: &Path, torn: Option<&RoundDraws>) {
    let mut place = 0;
    for synced in files(shadow) {
        let written = folder.join(synced.file_name().expect("a name"));
        if let (Some(draws), Ok(whole)) = (torn, fs::read(&written)) {
            let mut kept = fs::read(&synced).expect("a file");
            for (sector, bytes) in whole.chunks(SECTOR).enumerate() {
                place += 1;
                let (from, to) = (sector * SECTOR, sector * SECTOR + bytes.len());
                let is_same = kept.get(from..to) == Some(bytes);
                if is_same || draws.uniform(place) < 0.5 {
                    continue;
                }
                if kept.len() < to {
                    kept.resize(to, 0);
                }
                kept[from..to].copy_from_slice(bytes);
            }
            fs::write(&synced, kept).expect("a file");
        }
    }
    for file in files(folder) {
        fs::remove_file(file).expect("a file");
    }
    for synced in files(shadow) {
        fs::copy(&synced, folder.join(synced.file_name().expect("a name"))).expect("a copy");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.is_file()).collect()
}
