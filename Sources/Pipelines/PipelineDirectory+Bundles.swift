extension PipelineDirectory {
    /// App Store ids of apps by bundle id, as `store-notifications.yaml` names them; empty when there
    /// is no such file. Reports join by them; everything else in the file is left to its worker.
    public func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        let name = "store-notifications.yaml"
        guard try names().contains(name) else { return [:] }
        let root = try ConfigurationFile.read("\(path)/\(name)").entries()
        var apps: [String: Int64] = [:]
        for element in try root.first(where: { $0.key == "apps" })?.value.elements() ?? [] {
            let entries = try element.entries()
            guard let bundle = entries.first(where: { $0.key == "bundle_id" })?.value,
                let app = entries.first(where: { $0.key == "app_apple_id" })?.value
            else { continue }
            apps[try bundle.name()] = try app.app()
        }
        return apps
    }
}
