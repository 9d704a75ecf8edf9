import Engine
import Streams

@main
enum WeirOverlayClicks {
    static func main() {
        StreamWorker<OverlayClicksFold>.start()
    }
}
