#include "cli/app.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  return indexshare::cli::run_app(indexshare::cli::all_commands(), argc, argv);
}
