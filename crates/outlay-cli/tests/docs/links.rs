//! Every link of the documentation into this repository leads to an existing file and heading, and
//! `docs/SUMMARY.md` lists every page. Links of the README are absolute, because it is also the page
//! of the packages; they begin with the `repository` of the manifests.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{markdown_files, pages, root};

/// The address of the repository: `repository` in `[workspace.package]` of Cargo.toml.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The path in the repository that an absolute link leads to, if it does.
fn path_in_repository(target: &str) -> Option<&str> {
    let raw = REPOSITORY.replace("https://github.com/", "https://raw.githubusercontent.com/");
    target
        .strip_prefix(&format!("{REPOSITORY}/blob/main/"))
        .or_else(|| target.strip_prefix(&format!("{raw}/main/")))
}

/// The lines of a page outside of code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A line without its inline code, which may contain what looks like a link.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The targets of the links and pictures of a page.
fn targets(page: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(page).map(without_code) {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        targets.extend(links.map(str::to_owned));
        for attribute in ["src=\"", "href=\""] {
            let values = line.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            targets.extend(values.map(str::to_owned));
        }
    }
    targets
}

/// The anchors of the headings of a page, as GitHub and mdBook derive them.
fn anchors(page: &str) -> HashSet<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut anchors = HashSet::new();
    for line in prose(page) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = |one: &char| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_');
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let count = counts.entry(slug.clone()).or_default();
        anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    anchors
}

/// Explains why a link of a page does not resolve, if it does not.
fn broken(page: &Path, text: &str, target: &str) -> Option<String> {
    let (folder, target) = match path_in_repository(target) {
        Some(path) => (root(), path),
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None => (page.parent().unwrap().to_owned(), target),
    };
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if path.is_empty() { page.to_owned() } else { folder.join(path) };
    if !file.exists() {
        return Some("there is no such file".to_owned());
    }
    let is_markdown = file.extension().is_some_and(|extension| extension == "md");
    if anchor.is_empty() || !is_markdown {
        return None;
    }
    let found =
        if path.is_empty() { anchors(text) } else { anchors(&fs::read_to_string(&file).unwrap()) };
    (!found.contains(anchor)).then(|| format!("there is no heading #{anchor}"))
}

#[test]
fn links_and_anchors_resolve() {
    let root = root();
    let mut files: Vec<PathBuf> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.extend(pages());
    for folder in ["examples", "bench", "python/notebooks"] {
        files.extend(markdown_files(&root.join(folder)));
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for target in targets(&text) {
            count += 1;
            if let Some(reason) = broken(file, &text, &target) {
                let name = file.strip_prefix(&root).unwrap().display();
                wrong.push(format!("{name}: link to {target}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "only {count} links were found");
}

#[test]
fn the_summary_lists_every_page() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = targets(&summary)
        .iter()
        .filter_map(|target| docs.join(target).canonicalize().ok())
        .collect();
    for page in pages().iter().filter(|page| **page != docs.join("SUMMARY.md")) {
        let entries = listed.iter().filter(|listed| *listed == page).count();
        assert_eq!(entries, 1, "{} is listed {entries} times in docs/SUMMARY.md", page.display());
    }
}

#[test]
fn links_of_the_readme_work_on_the_pages_of_the_packages() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut count = 0;
    for target in targets(&readme) {
        let is_absolute = target.contains("://") || target.starts_with('#');
        assert!(is_absolute, "README.md: the link to {target} must begin with {REPOSITORY}");
        count += usize::from(path_in_repository(&target).is_some());
    }
    assert!(count > 10, "only {count} links into the repository were found");
    let pyproject = fs::read_to_string(root().join("pyproject.toml")).unwrap();
    assert!(pyproject.contains(&format!("Repository = \"{REPOSITORY}\"")), "pyproject.toml");
}

#[test]
fn broken_links_are_found() {
    let page = root().join("docs/README.md");
    let text = "# A `code` heading, twice\n## A code heading, twice\n```\n# no heading\n```\n";
    assert_eq!(broken(&page, text, "#a-code-heading-twice"), None);
    assert_eq!(broken(&page, text, "#a-code-heading-twice-1"), None);
    assert!(broken(&page, text, "#no-heading").is_some());
    assert!(broken(&page, text, "no-such-page.md").is_some());
    assert!(broken(&page, text, &format!("{REPOSITORY}/blob/main/no-such-page.md")).is_some());
    assert_eq!(broken(&page, text, &format!("{REPOSITORY}/blob/main/README.md#limits")), None);
    assert!(broken(&page, text, "../README.md#no-such-heading").is_some());
    assert_eq!(
        targets("[a](b.md#c) `[d](e)` ![f](g.svg)\n```\n[h](i)\n```\n"),
        ["b.md#c", "g.svg"]
    );
}
