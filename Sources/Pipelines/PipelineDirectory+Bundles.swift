extension PipelineDirectory {
    /// App Store ids of apps by bundle id, as `catalog.yaml` and `store-notifications.yaml` name them;
    /// empty when neither does. Everything else in the latter is left to its worker.
    ///
    /// Throws when the two name different apps for one bundle id.
    package func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        var apps = try catalog().appsByBundle
        let name = "store-notifications.yaml"
        guard try names().contains(name) else { return apps }
        let root = try ConfigurationFile.read("\(path)/\(name)").entries()
        for element in try root.first(where: { $0.key == "apps" })?.value.elements() ?? [] {
            let entries = try element.entries()
            guard let bundle = entries.first(where: { $0.key == "bundle_id" })?.value,
                let node = entries.first(where: { $0.key == "app_apple_id" })?.value
            else { continue }
            let app = try node.app()
            let known = apps.updateValue(app, forKey: try bundle.name())
            guard known == nil || known == app else {
                throw node.badValue(
                    "is \(app), and catalog.yaml gives this bundle_id to another app: make them one"
                )
            }
        }
        return apps
    }
}
