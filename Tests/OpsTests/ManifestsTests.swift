import ConfigurationFiles
import ConfigurationValues
import Foundation
import Streams
import Testing
import Yams

@Suite("What Weir is deployed with")
struct ManifestsTests {
    private let ops = OpsDirectory()
    private let workers = allStreams.map { $0.streamName } + ["partner-postbacks"]

    @Test("every YAML file can be read, and has something in it")
    func yaml() throws {
        for path in try ops.paths(endingIn: ".yaml", ".yml") {
            let documents = try ops.documents(path)
            #expect(!documents.isEmpty, "\(path)")
        }
    }

    @Test("every script is one that bash can read")
    func scripts() throws {
        let scripts = try ops.paths().filter { path in
            try ops.text(path).hasPrefix("#!/usr/bin/env bash")
        }
        #expect(scripts.contains("ops/container/ready") && scripts.contains("ops/test"))
        for path in scripts {
            let bash = Process()
            bash.executableURL = URL(filePath: "/usr/bin/env")
            bash.arguments = ["bash", "-n", ops.root.appending(path: path).path()]
            try bash.run()
            bash.waitUntilExit()
            #expect(bash.terminationStatus == 0, "\(path)")
        }
    }

    @Test("every image that others make has a version, and never a moving one")
    func images() throws {
        let ofContainers = try ops.document("ops/compose.yaml").values(ofKey: "image")
            .compactMap(\.string)
        let ofStages = try ops.text("ops/Dockerfile").split(separator: "\n")
            .filter { $0.hasPrefix("FROM ") }.map { String($0.split(separator: " ")[1]) }
        #expect(ofContainers.count > 3 && ofStages.count == 2)
        for image in ofContainers + ofStages where image != "weir:local" {
            let version = image.split(separator: ":").dropFirst().joined()
            #expect(version.filter(\.isNumber).count >= 3, "\(image)")
        }
    }

    @Test("the image is built with what the build needs, and has what the package has")
    func dockerfile() throws {
        let dockerfile = try ops.text("ops/Dockerfile")
        let dependencies = try #require(
            try ops.text("ops/dependencies").firstMatch(of: /packages=\(([^)]*)\)/)
        ).1
        for package in dependencies.split(separator: " ") {
            #expect(dockerfile.contains(" \(package) "), "\(package)")
        }
        #expect(dockerfile.contains("RUN ops/package"))
        #expect(dockerfile.contains("COPY --from=build /package/ /"))
        #expect(dockerfile.contains("for program in $(ops/packaging/programs)"), "all are tried")
    }

    @Test("every worker is in the compose file, watched, and with a volume of its own")
    func compose() throws {
        let compose = try ops.document("ops/compose.yaml")
        let services = try #require(compose["services"])
        var volumes: Set<String> = []
        for worker in workers {
            let service = try #require(services["weir-\(worker)"], "\(worker)")
            #expect(service.texts("command").first == "weir-\(worker)")
            #expect(service.texts("volumes").count == 1)
            volumes.formUnion(service.texts("volumes"))
            #expect(compose["volumes"]?.mapping?.keys.contains(Node(worker)) == true)
        }
        #expect(volumes.count == workers.count)
        let scraped = try ops.document("ops/prometheus/prometheus.yml")
            .values(ofKey: "targets").flatMap { $0.sequence?.compactMap(\.string) ?? [] }
        #expect(
            scraped.filter { $0.hasPrefix("weir-") }
                == (workers + ["collector"]).map { "weir-\($0):9464" })
    }

    @Test("the kustomization names files that are there, and every worker")
    func kustomizations() throws {
        for path in try ops.paths(endingIn: "kustomization.yaml") {
            let folder = String(path.dropLast("/kustomization.yaml".count))
            let kustomization = try ops.document(path)
            let files = kustomization["configMapGenerator"]?.sequence?.flatMap { $0.texts("files") }
            for name in kustomization.texts("resources") + (files ?? []) {
                #expect(ops.exists("\(folder)/\(name)"), "\(path): \(name)")
            }
        }
        let resources = try ops.document("ops/kubernetes/kustomization.yaml").texts("resources")
        #expect(Set(workers + ["collector"]).isSubset(of: resources))
        for worker in workers {
            let text = try ops.text("ops/kubernetes/\(worker)/kustomization.yaml")
            #expect(text.contains("nameSuffix: -\(worker)\n"))
            #expect(text.contains("value: \(worker)\n"))
        }
    }

    @Test("without volumes, the workers of streams get a directory of snapshots, and no others")
    func withoutVolumes() throws {
        let component = try ops.document("ops/kubernetes/snapshots/kustomization.yaml")
        let patch = try #require(component["patches"]?.sequence?.first)
        let names = try #require(patch["target"]?["name"]?.string)
        let pattern = try Regex(names)
        for worker in workers + ["collector"] {
            let isOfStream = Streams.stream(named: worker) != nil
            #expect(
                (try pattern.wholeMatch(in: "weir-\(worker)") != nil) == isOfStream, "\(worker)")
        }
        // What is removed or replaced is there, and what is mounted is a volume.
        let set = try ops.document("ops/kubernetes/worker/statefulset.yaml")
        let changes = try #require(
            try Yams.compose(yaml: patch["patch"]?.string ?? "")?.sequence)
        for change in changes where change["op"]?.string != "add" {
            let path = try #require(change["path"]?.string)
            let found = path.split(separator: "/").reduce(Optional(set)) { node, name in
                Int(name).map { node?.sequence?[$0] } ?? node?[String(name)]
            }
            #expect(found != nil, "\(path)")
        }
        let added = changes.filter { $0["op"]?.string == "add" }.compactMap { $0["value"] }
        let volumes = added.filter { $0["mountPath"] == nil }.compactMap { $0["name"]?.string }
        #expect(volumes == ["data", "snapshots"])
        let mount = try #require(added.first { $0["mountPath"] != nil })
        #expect(mount["name"]?.string == "snapshots")
        let claim = try ops.document("ops/kubernetes/snapshots/volume.yaml")
        #expect(
            claim["metadata"]?["name"]?.string
                == added.first { $0["persistentVolumeClaim"] != nil }?["persistentVolumeClaim"]?[
                    "claimName"]?.string)
        let command = changes.compactMap { $0["value"]?.sequence?.last?.string }.joined()
        #expect(command.contains("--member \"$POD_NAME\" --standby"))
    }

    @Test("every partition of a topic has exactly one pod that owns it, and every pod a line")
    func partitions() throws {
        let generators = try ops.document("ops/kubernetes/kustomization.yaml")["configMapGenerator"]
        let lines = try #require(
            generators?.sequence?.first { $0["name"]?.string == "weir-partitions" }
        )
        .texts("literals")
        var owned: [String: [Int]] = [:]
        var pods: [String: Int] = [:]
        for line in lines {
            let match = try #require(
                try /weir-(.+)-(\d+)=(\d+)-(\d+)/.wholeMatch(in: line), "\(line)")
            let worker = String(match.1)
            let first = try #require(Int(match.3))
            let last = try #require(Int(match.4))
            #expect(Int(match.2) == pods[worker, default: 0], "\(line)")
            owned[worker, default: []] += Array(first...last)
            pods[worker, default: 0] += 1
        }
        for worker in workers {
            let topic = try ops.document("topics/\(worker).yaml")
            let count = try #require(topic.values(ofKey: "partitions").first?.int)
            #expect(owned[worker]?.sorted() == Array(0..<count), "\(worker)")
            let patch = try ops.text("ops/kubernetes/\(worker)/kustomization.yaml")
            let replicas = patch.firstMatch(of: /replicas: (\d+)/).flatMap { Int($0.1) } ?? 1
            #expect(pods[worker] == replicas, "\(worker)")
        }
    }

    @Test("nothing is wrong with the configuration that Kubernetes gets, and it trusts no demo")
    func pipelines() throws {
        let path = ops.root.appending(path: "ops/kubernetes/pipelines").path()
        let directory = PipelineDirectory(path)
        #expect(directory.check() == [])
        for worker in workers {
            #expect(ops.exists("ops/kubernetes/pipelines/\(worker).yaml"), "\(worker)")
        }
        #expect(ops.exists("ops/kubernetes/pipelines/collector.yaml"))
        #expect(try directory.collector().access.requiresKeys)
        #expect(try StoreNotificationsFold.rules(in: directory).roots.count == 1, "Apple's alone")
        #expect(try !PostbacksFold.rules(in: directory).trustsDevelopment)
    }
}
