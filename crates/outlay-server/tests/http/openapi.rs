//! The committed description of the API matches the service.

use std::path::Path;

#[test]
fn the_committed_openapi_document_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    let now = outlay_server::http::openapi_json();
    if std::env::var_os("OPENAPI").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let place = kept
        .lines()
        .zip(now.lines())
        .position(|(kept, now)| kept != now)
        .map_or(kept.lines().count(), |line| line + 1);
    assert!(
        kept == now,
        "docs/reference/openapi.json differs from the code from line {place} on; update it with\n  \
         OPENAPI=overwrite cargo test -p outlay-server --test main openapi\nand read the difference"
    );
}

#[test]
fn the_openapi_document_has_unique_operations_and_all_schemas() {
    let api: serde_json::Value =
        serde_json::from_str(&outlay_server::http::openapi_json()).unwrap();
    assert_eq!(api["openapi"], "3.1.0");
    assert_eq!(api["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    let operations = api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values());
    let mut ids: Vec<&str> =
        operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "two operations have the same id");
    let text = api.to_string();
    for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(api["components"]["schemas"].get(name).is_some(), "schema {name} is missing");
    }
}
