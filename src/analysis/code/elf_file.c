// SPDX-License-Identifier: GPL-2.0-only
#include "code/elf_file.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "text.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define DEBUG_SERVERS "DEBUGINFOD_URLS"

/* Searches FOLDERS, as in a debuginfo path, for the debug file of a program with this name. */
static int find_debug_in(struct elf_file *file, const char *name, char *folders,
			 const char *debuglink, GElf_Word crc, char **path)
{
	void **userdata;

	file->debug_path = folders;
	dwfl_module_info(file->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	return dwfl_standard_find_debuginfo(file->module, userdata, name, 0, name, debuglink, crc,
					    path);
}

/* perf's caches first, then where gdb searches; with DEBUGINFOD_URLS, from a server. */
static int find_elf_debug(struct elf_file *file, const char *debuglink, GElf_Word crc, char **path)
{
	const char *name = file->wanted.name, *symfs = file->places->symfs;
	_cleanup_free_ char *there = NULL;
	int fd = files_open_cached_debug(file->places, &file->wanted);

	/* A name in .gnu_debuglink that leads elsewhere is none. */
	if (debuglink && (strchr(debuglink, '/') || strlen(debuglink) > NAME_MAX))
		debuglink = NULL;
	if (fd == -ENOENT && symfs && (there = strfmt("%s%s", symfs, name))) {
		_cleanup_free_ char *folders = strfmt("%s" DEBUG_FOLDER, symfs);

		fd = find_debug_in(file, there, (char *)":.debug", debuglink, crc, path);
		if (fd < 0 && folders)
			fd = find_debug_in(file, name, folders, debuglink, crc, path);
	}
	if (fd < 0)
		fd = find_debug_in(file, name, (char *)":.debug:" DEBUG_FOLDER, debuglink, crc,
				   path);
	file->debug_path = (char *)":.debug:" DEBUG_FOLDER;
	if (fd < 0)
		return -1;
	closep(&file->debug);
	file->debug = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd;
}

static int find_module_debug(Dwfl_Module *module, void **userdata, const char *module_name,
			     Dwarf_Addr base, const char *file_name, const char *debuglink,
			     GElf_Word crc, char **path)
{
	return find_elf_debug(*userdata, debuglink, crc, path);
}

int elf_file_find_local_debug(struct elf_file *file, const char *debuglink, uint32_t crc,
			      char **path)
{
	_cleanup_free_ char *servers = NULL;
	int fd;

	if (file->debug >= 0)
		return fcntl(file->debug, F_DUPFD_CLOEXEC, 0);
	servers = strdup(getenv(DEBUG_SERVERS) ?: "");
	if (!servers)
		return -1;
	unsetenv(DEBUG_SERVERS);
	fd = find_elf_debug(file, debuglink, crc, path);
	setenv(DEBUG_SERVERS, servers, true);
	return fd;
}

int elf_file_open(struct elf_file *file, const struct files_places *places,
		  const struct files_wanted *wanted, int fd)
{
	_cleanup_close_ int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	void **userdata;
	GElf_Ehdr header;
	Elf *elf;
	int kind;

	*file = (struct elf_file){ .places = places, .wanted = *wanted, .debug = -1, .fd = -1 };
	elf_version(EV_CURRENT);
	elf = elf_begin(own, ELF_C_READ_MMAP, NULL);
	kind = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) ? header.e_type
									       : ET_NONE;
	elf_end(elf);
	if (!elf || kind == ET_NONE)
		return -ENOEXEC;
	file->debug_path = (char *)":.debug:" DEBUG_FOLDER;
	file->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_module_debug,
		.debuginfo_path = &file->debug_path,
	};
	file->dwfl = dwfl_begin(&file->callbacks);
	if (!file->dwfl)
		return -ENOMEM;
	/* What is relocatable was not mapped as code. */
	if (kind == ET_EXEC || kind == ET_DYN)
		file->module =
			dwfl_report_elf(file->dwfl, wanted->name, wanted->name, own, 0, true);
	if (file->module) {
		file->fd = fcntl(own, F_DUPFD_CLOEXEC, 0);
		(void)TAKE_FD(own);
		dwfl_module_info(file->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = file;
	}
	if (dwfl_report_end(file->dwfl, NULL, NULL) || !file->module)
		return 0;
	file->elf = dwfl_module_getelf(file->module, &(GElf_Addr){ 0 });
	return 0;
}

void elf_file_close(struct elf_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	closep(&file->debug);
	closep(&file->fd);
	*file = (struct elf_file){ .debug = -1, .fd = -1 };
}

int elf_file_open_debug(struct elf_file *file)
{
	GElf_Addr bias;

	if (file->module)
		(void)dwfl_module_getdwarf(file->module, &bias);
	return file->debug >= 0 ? TAKE_FD(file->debug) : -ENOENT;
}

bool elf_file_offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    address < header.p_vaddr || address - header.p_vaddr >= header.p_memsz)
			continue;
		*offset = address - header.p_vaddr + header.p_offset;
		return true;
	}
	return false;
}
